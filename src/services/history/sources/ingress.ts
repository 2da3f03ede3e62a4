/**
 * Takes in what monitoring systems send: the payload is stored, then its alerts are judged, then the sender is answered. A payload
 * whose process dies in between is judged by another one.
 */
import { AppError } from '../../../core/errors.ts';
import type { Actor } from '../../../core/identity/actor.ts';
import { commandLine } from '../../../core/identity/actor.ts';
import { timeOfUuid, uuidv7 } from '../../../core/ids.ts';
import { type SourcePayload, type SourceRequest, sourceLimits } from '../../../core/sources/alert.ts';
import { type CompiledSource, compileSource, readRequest } from '../../../core/sources/mapping.ts';
import { sourceTokenHash } from '../../../core/sources/token.ts';
import { findForgery } from '../../../core/sources/verification.ts';
import {
  type AlertResult,
  claimOpenPayloadsAcrossTenants,
  type OpenPayload,
  type PayloadState,
  postponePayload,
  pruneSourcePayloads,
} from '../../../db/history/sources/payloads.ts';
import { findSource, type StoredSource } from '../../../db/history/sources/sources.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { requireHere } from '../../configuration/paths/moves.ts';
import { openSourceSecrets } from '../../configuration/source-secrets.ts';
import type { Deps } from '../../deps.ts';
import { confirmSubscription, type SignedDocuments } from '../feedback/requests.ts';
import { judge } from './judge.ts';
import { reportRejection } from './rejections.ts';
import { describeRequest, storable, toOriginal } from './stored-request.ts';

export type { StoredSource } from '../../../db/history/sources/sources.ts';

/** What the sender is answered. */
export interface Receipt {
  /** Id of the payload. */
  id: string;
  /** `received`: it is judged later. */
  state: PayloadState;
  results: AlertResult[];
  note: string | null;
  /** How a limit is to be answered; undefined: none was reached. */
  limited?: CompiledSource['limited'];
}

/** Results that are stored; the counts say how many there were. */
const maxResults = 200;
/** Payloads of a source between two looks at how many it keeps, and between two that find whatever the others have left. */
const pruneEvery = 50;
const pruneAllEvery = 1_000;
const postponeSeconds = 5;
/** A payload that has to wait for a limit is given up after this time. */
const giveUpMs = 3_600_000;
const maxClaimed = 20;

interface OpenedSource {
  compiled: CompiledSource;
  secret: string | undefined;
}

const opened = new WeakMap<StoredSource, OpenedSource>();

/** Compiles the expressions and decrypts the secret, once for each version of a source. */
export function openSource({ cipher }: Pick<Deps, 'cipher'>, source: StoredSource): OpenedSource {
  const known = opened.get(source);
  if (known) return known;
  const { secret } = openSourceSecrets(cipher, source.organization_id, source);
  const made = { compiled: compileSource(source), secret };
  opened.set(source, made);
  return made;
}

/** Finds the source with this token. Throws if its organization has moved to another cell. */
export async function findSourceByToken(deps: Deps, token: string): Promise<StoredSource | undefined> {
  const tokenHash = sourceTokenHash(token);
  if (!tokenHash) return undefined;
  const key = tokenHash.toString('base64');
  let source: StoredSource | undefined;
  try {
    source = await deps.tenantCache.findSource(tokenHash);
  } catch (error) {
    // The request is not known to belong to the source, so it is counted here.
    deps.calls.addFailed(key);
    throw error;
  }
  if (source) deps.calls.remember(key, source.organization_id);
  if (source) await requireHere(deps, { id: source.organization_id });
  return source;
}

export function actorOf({ slug }: StoredSource, origin: string | null, requestId: string | null): Actor {
  return { kind: 'visitor', id: null, name: `source ${slug}`, origin, requestId };
}

interface ReceiveOptions {
  documents: SignedDocuments;
  /** Whether the token is the only credential that the sender can have. */
  byKey?: boolean;
}

/** Stores and judges a request. Throws `source.refused` or `request.malformed`, after storing it, if it cannot be used. */
export async function receive(
  deps: Deps,
  source: StoredSource,
  request: SourceRequest,
  { documents, byKey = false }: ReceiveOptions,
): Promise<Receipt> {
  const now = currentTime();
  const { compiled, secret } = openSource(deps, source);
  const forgery = await findRefusal(deps, source, request, secret, byKey, documents, now);
  if (forgery !== undefined) {
    await keepRefused(deps, source, request, forgery, { is_forged: true });
    throw new AppError('source.refused', forgery);
  }
  const confirmation = source.use === 'sns' ? deps.feedbackReaders.ses?.confirmationUrl?.(request) : undefined;
  if (confirmation !== undefined) {
    await confirmSubscription(deps.outbound, confirmation);
    return keep(deps, source, request, 'taken', 'the subscription was confirmed');
  }
  let payload: SourcePayload;
  try {
    payload = readRequest(compiled, request);
  } catch (error) {
    const reason = `the payload ${(error as Error).message}`;
    await keepRefused(deps, source, request, reason);
    throw new AppError('request.malformed', reason);
  }
  const { id } = await keep(deps, source, request, 'received', null);
  return process(deps, source, compiled, payload, id, { bytes: request.bytes.length });
}

const keyIsNotEnough =
  'the source has a secret, which this kind of request cannot prove: send it to the address of the source';

/** Throws `source.refused`, after storing what was sent, if the source needs more than its key. */
export async function requireNoSecret(deps: Deps, source: StoredSource, request: SourceRequest): Promise<void> {
  if (!openSource(deps, source).secret) return;
  if (request.method !== 'GET') await keepRefused(deps, source, request, keyIsNotEnough, { is_forged: true });
  throw new AppError('source.refused', keyIsNotEnough);
}

/** Returns why the request is not from the sender; undefined if it is. */
async function findRefusal(
  deps: Deps,
  source: StoredSource,
  request: SourceRequest,
  secret: string | undefined,
  byKey: boolean,
  documents: SignedDocuments,
  now: number,
): Promise<string | undefined> {
  if (source.use === 'sns' && !byKey) {
    if (!secret) return 'the source has no secret: set it to the ARN of the topic';
    const fetchText = (url: string) => documents.read(url, now);
    const verified = await deps.feedbackReaders.ses!.verify!(request, secret, { now, fetchText });
    return verified.ok ? undefined : verified.reason;
  }
  if (!secret) return undefined;
  if (byKey) return keyIsNotEnough;
  return findForgery(request, secret, now);
}

/** Keeps the beginning of a request that cannot be used, so that someone can see what was sent. */
export async function keepRefused(
  deps: Deps,
  source: StoredSource,
  request: SourceRequest,
  reason: string,
  more: { bytes?: number; is_forged?: true } = {},
): Promise<void> {
  const beginning = { ...request, bytes: request.bytes.subarray(0, sourceLimits.keptBytes) };
  const { id } = await keep(deps, source, beginning, 'refused', reason, { bytes: request.bytes.length, ...more });
  await reportRejection(deps, source, { payload: id, state: 'refused', error: storable(reason) });
}

const stored = new Map<string, number>();

export async function keep(
  deps: Deps,
  { organization_id, id: source_id }: StoredSource,
  request: SourceRequest,
  state: PayloadState,
  note: string | null,
  { bytes = request.bytes.length, is_forged }: { bytes?: number; is_forged?: true } = {},
): Promise<Receipt> {
  const id = uuidv7(currentTime());
  const kept = {
    organization_id,
    source_id,
    id,
    state,
    request: { ...describeRequest(request), ...(is_forged && { is_forged }) },
    body: request.bytes,
    bytes,
    note: note && storable(note),
  };
  await deps.sources.storePayload(kept);
  const name = `${organization_id}/${source_id}`;
  const count = (stored.get(name) ?? 0) + 1;
  if (stored.size > 10_000) stored.clear();
  stored.set(name, count % pruneAllEvery);
  if (count % pruneEvery === 0) {
    const max = count === pruneAllEvery ? null : pruneEvery;
    await pruneSourcePayloads(deps.db, organization_id, source_id, max);
  }
  return { id, state, results: [], note };
}

async function process(
  deps: Deps,
  source: StoredSource,
  compiled: CompiledSource,
  payload: SourcePayload,
  id: string,
  options: { receivedAt?: number; bytes: number },
): Promise<Receipt> {
  const { organization_id, id: source_id } = source;
  const results = await judge(deps, source, compiled, payload, options);
  const note = payload.note ? storable(payload.note) : null;
  const isLimited = results.some(({ outcome }) => outcome === 'limited');
  if (isLimited && compiled.limited === 'accept' && currentTime() - timeOfUuid(id) < giveUpMs) {
    await postponePayload(deps.db, organization_id, source_id, id, postponeSeconds);
    return { id, state: 'received', results, note, limited: 'accept' };
  }
  const settled = summarizeResults(results);
  const { state } = settled;
  // Before it is settled: what a crash leaves behind is judged again, and reported then.
  if (state === 'partly' || state === 'rejected') {
    const error = results.find(one => one.error)?.error ?? 'a limit was reached';
    await reportRejection(deps, source, { payload: id, state, error });
  }
  await deps.sources.settle({ organization_id, source_id, id, ...settled, note });
  return { id, state: settled.state, results, note, ...(isLimited && { limited: compiled.limited }) };
}

/** Returns what is stored of the results of a payload. */
export function summarizeResults(results: readonly AlertResult[]) {
  const counts: Record<string, number> = Object.fromEntries(
    [...Map.groupBy(results, ({ outcome }) => outcome)].map(([name, all]) => [name, all.length]),
  );
  const failed = (counts.rejected ?? 0) + (counts.limited ?? 0);
  const state: PayloadState = failed === 0 ? 'taken' : failed === results.length ? 'rejected' : 'partly';
  return { state, counts, alerts: foremost(results) };
}

/** Those with an error first: there may be more alerts than are stored. */
function foremost(results: readonly AlertResult[]): AlertResult[] {
  if (results.length <= maxResults) return [...results];
  const [failed, others] = [results.filter(({ error }) => error), results.filter(({ error }) => !error)];
  return [...failed, ...others].slice(0, maxResults);
}

/** Judges payloads that another process left behind, or that had to wait. */
export async function judgeOpenPayloads(deps: Deps): Promise<void> {
  for (const payload of await claimOpenPayloadsAcrossTenants(deps.pool, maxClaimed)) await judgeAgain(deps, payload);
}

async function judgeAgain(deps: Deps, { organization_id, source_id, id, request, body }: OpenPayload): Promise<void> {
  const source = await findSource(deps.db, organization_id, source_id);
  if (!source) return;
  const original = toOriginal({ request, body });
  const { compiled } = openSource(deps, source);
  const own = { ...deps, actor: { ...actorOf(source, null, null), kind: commandLine.kind } };
  let read: SourcePayload;
  try {
    read = readRequest(compiled, original);
  } catch (error) {
    const note = `the payload ${(error as Error).message}`;
    await reportRejection(deps, source, { payload: id, state: 'refused', error: storable(note) });
    await deps.sources.settle({ organization_id, source_id, id, state: 'refused', alerts: [], counts: {}, note });
    return;
  }
  await process(own, source, compiled, read, id, { receivedAt: timeOfUuid(id), bytes: body.length });
}
