/** Sends one message now, without an occurrence: test messages, and codes that verify addresses. Nothing is stored. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeSuppression, stopsChannel } from '../../../core/audience/suppressions.ts';
import type { Reach, RecipientAddress } from '../../../core/decision/decide.ts';
import { AppError, invalid } from '../../../core/errors.ts';
import { uuidv7 } from '../../../core/ids.ts';
import { lookUp } from '../../../core/lookup.ts';
import type { Content } from '../../../core/render/render.ts';
import { readAddress } from '../../../core/text/text.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { PlannedChannel, PlannedProvider } from '../../../pipeline/plans.ts';
import { markSuppressed } from '../../../pipeline/suppressions.ts';
import { explainDenied } from '../../../providers/provider.ts';
import type { Outcome, Outgoing } from '../../../providers/sending.ts';
import type { Deps } from '../../deps.ts';

export interface SendResult {
  ok: boolean;
  /** Name of the provider; null if none was reached. */
  provider: string | null;
  /** A stable code; null if it was sent. */
  reason: string | null;
  /** Status and beginning of the provider's answer. */
  detail: string | null;
  message_id: string | null;
  ms: number;
}

/** Providers may have longer timeouts than a caller should wait. */
const timeoutMs = 60_000;
const maxDetailLength = 200;

interface Destination {
  to: string | undefined;
  /** Returns the address to send to, or throws if the caller may not reach it. */
  restrict?: (address: string) => Promise<string>;
}

type RenderedMessage = Pick<Outgoing, 'tags' | 'urgent' | 'locale'> & { content: Content };

export async function sendNow(
  deps: Deps,
  channel: PlannedChannel,
  index: number,
  { to, restrict }: Destination,
  render: (address: string) => RenderedMessage | Promise<RenderedMessage>,
): Promise<SendResult> {
  const startedAt = performance.now();
  const toResult = (result: Partial<SendResult>): SendResult => ({
    ok: false,
    provider: null,
    reason: null,
    detail: null,
    message_id: null,
    ...result,
    ms: Math.round(performance.now() - startedAt),
  });
  let planned: PlannedProvider | undefined;
  let rendered: RenderedMessage;
  let address = '';
  try {
    planned = channel.providers[index];
    if (!planned) {
      const there = channel.providers.length;
      if (index > 0)
        throw invalid({ provider: [`must be less than ${there}, the number of providers of the channel`] });
      return toResult({ reason: 'channel.unusable', detail: 'the channel has no provider: add one' });
    }
    const reach = planned.provider.reach?.(planned.settings) ?? 'address';
    address = readDestination(channel, reach, to);
    if (restrict && reach === 'address') address = await restrict(address);
    const suppression = await findSuppression(deps, channel, address);
    if (suppression) {
      const provider = planned.provider.name;
      return toResult({ provider, reason: 'address.suppressed', detail: describeSuppression(suppression) });
    }
    rendered = await render(address);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'request.invalid' || error.code === 'test.address') throw error;
    return toResult({ provider: planned?.provider.name ?? null, reason: error.code, detail: error.message });
  }
  const outgoing = { id: `test.${uuidv7(currentTime())}`, address, createdAt: new Date(currentTime()), ...rendered };
  const { testSends } = deps;
  if (!testSends.take(channel.organizationId, 1)) {
    throw new AppError('test.limited', 'too many test messages are being sent: wait until they have ended', {
      retryAfterSeconds: 1,
    });
  }
  const outcome = await send(deps, planned, outgoing).finally(() => testSends.release(channel.organizationId, 1));
  const provider = planned.provider.name;
  if (outcome.ok) {
    const detail = lookUp(nonSendingProviders, provider) ?? null;
    return toResult({ ok: true, provider, detail, message_id: outcome.id === undefined ? null : shorten(outcome.id) });
  }
  return toResult({
    provider,
    reason: outcome.unknown ? 'unknown' : 'provider.failed',
    detail: explain(planned, outcome),
  });
}

function explain({ provider, settings }: PlannedProvider, { denied, reason }: Extract<Outcome, { ok: false }>): string {
  return denied ? explainDenied(provider, settings, shorten(reason)) : shorten(reason);
}

async function findSuppression(deps: Deps, { organizationId, projectId, type }: PlannedChannel, address: string) {
  const destination: RecipientAddress = { name: type, value: address, disabled: false };
  await markSuppressed(deps, [{ organization_id: organizationId, addresses: [destination] }]);
  const { suppression } = destination;
  return suppression && stopsChannel(suppression, { projectId }) ? suppression : undefined;
}

/** Keeps enough to diagnose a failure, and too little to read pages of internal servers by testing a channel. */
function shorten(text: string): string {
  return text.length > maxDetailLength ? `${text.slice(0, maxDetailLength - 1)}…` : text;
}

/** Providers that send nothing, with the detail to return. */
const nonSendingProviders: Record<string, string> = {
  sandbox: 'the sandbox does not send messages',
  inbox: 'the channel works; test messages are not added to an inbox',
};

function readDestination({ type, slug }: PlannedChannel, reach: Reach, to: string | undefined): string {
  if (reach === 'room') return `room ${slug}`;
  if (to === undefined) {
    if (reach === 'recipient') return '';
    throw invalid({ to: [`is required: a channel of type ${type} sends to an address`] });
  }
  const read = readAddress(type, to);
  if ('mistake' in read) throw invalid({ to: [read.mistake] });
  return read.value;
}

/** Opens a sender for this message only, so that tests do not affect the workers' connections and circuit breakers. */
async function send(deps: Deps, planned: PlannedProvider, outgoing: Outgoing): Promise<Outcome> {
  const { outbound, hostName, awsRole } = deps;
  const sender = planned.provider.open(planned.settings as never, { outbound, hostName, awsRole });
  const timer = new AbortController();
  const timeout = async (): Promise<Outcome> => {
    await sleep(timeoutMs, undefined, { signal: timer.signal });
    const reason = `no answer within ${timeoutMs / 1_000} seconds`;
    return { ok: false, retry: true, unknown: true, reason };
  };
  try {
    return await Promise.race([sender.send(outgoing), timeout()]);
  } catch (error) {
    return { ok: false, retry: false, reason: `the provider failed: ${(error as Error).message}` };
  } finally {
    timer.abort();
    void sender.close().catch(() => {});
  }
}
