/** Verifies addresses: a code is sent to an address by a channel of the organization, and entered by its user. */
import { randomInt } from 'node:crypto';
import { codeMessage, codeScope, readCode, verificationLimits } from '../../core/audience/verification.ts';
import { isPersonal } from '../../core/decision/preferences.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { compileMessage, renderMessage } from '../../core/render/render.ts';
import { addressKind, fold } from '../../core/text/text.ts';
import type { WholeAddress } from '../../db/audience/addresses.ts';
import * as codes from '../../db/audience/verification.ts';
import { acceptsAddress, type PlannedChannel } from '../../pipeline/plans.ts';
import { type SendResult, sendNow } from '../configuration/try-out/send-now.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { getProfile, storeVerified } from './users.ts';

interface AddressOwner {
  id: number;
  username: string;
}

interface SentCode {
  /** Slug of the channel. */
  channel: string;
  expires_at: Date;
  /** The message of a channel that sends nothing, the sandbox; otherwise null. */
  text: string | null;
}

const message = compileMessage(codeMessage, 'checked');

/** Sends a code to the address and returns once the provider has answered. */
export async function sendCode(
  deps: Deps,
  organization: { id: number; slug: string; name: string },
  user: AddressOwner,
  address: WholeAddress,
): Promise<SentCode> {
  if (address.verified_at) throw new AppError('verification.done', `${address.name} is verified already`);
  if (address.disabled_at) throw new AppError('verification.unreachable', 'the address is disabled: enable it first');
  const { locked, locale } = await getProfile(deps, organization.id, user.id);
  if (locked) throw new AppError('verification.unreachable', 'the user is locked: unlock the user first');
  const channel = await findChannel(deps, organization.id, address);
  const code = String(randomInt(10 ** verificationLimits.digits)).padStart(verificationLimits.digits, '0');
  const taken = await deps.db.transaction().execute(trx =>
    codes.takeCode(trx, organization.id, {
      userId: user.id,
      addressId: address.id,
      // Numbers and addresses are the same for all users and names: an SMS and a call ring the same phone.
      sentTo: deps.signer.sign(fold(address.value), 'verification limits'),
      codeHash: deps.signer.sign(describeCode(organization.id, address, code), 'verification code'),
    }),
  );
  if ('waitSeconds' in taken) {
    const { waitSeconds } = taken;
    const wait = waitSeconds > 120 ? `${Math.ceil(waitSeconds / 60)} minutes` : `${waitSeconds} seconds`;
    throw new AppError('verification.limited', `too many codes were sent: wait ${wait}`, {
      retryAfterSeconds: waitSeconds,
    });
  }
  const { result, text } = await send(deps, organization, channel, address.value, code, locale ?? undefined);
  const { ok, reason, detail } = result;
  const isSent = ok || reason === 'unknown';
  if (!isSent) await codes.endCode(deps.db, organization.id, taken.id);
  await record(deps, deps.db, organization.id, {
    action: 'verify',
    noun: 'address',
    path: `${user.username}/${address.name}`,
    after: { channel: channel.slug, ok, detail },
  });
  if (!isSent)
    throw new AppError('verification.failed', `the channel ${channel.slug} could not send it: ${detail ?? reason}`);
  return { channel: channel.slug, expires_at: taken.expires_at, text: result.provider === 'sandbox' ? text : null };
}

/** Verifies the address if the code is the last one that was sent to it. Throws if it is wrong, was used or is too old. */
export async function confirmCode(
  deps: Deps,
  organizationId: number,
  user: AddressOwner,
  address: WholeAddress,
  entered: string,
): Promise<WholeAddress> {
  const { db, signer } = deps;
  const code = readCode(entered);
  if (code === undefined) throw invalid({ code: [`must be the ${verificationLimits.digits} digits that were sent`] });
  // Counted before anything is compared, so that requests at the same time cannot try more codes.
  const attempt = await codes.takeAttempt(db, organizationId, address.id);
  if (!attempt)
    throw new AppError('verification.ended', 'no code was sent lately, or it was entered too often: send another one');
  const { id, code_hash, attempts_left } = attempt;
  if (!signer.isSigned(code_hash, describeCode(organizationId, address, code), 'verification code')) {
    throw invalid({ code: [`is not the last one that was sent; attempts left: ${attempts_left}`] });
  }
  return db.transaction().execute(async trx => {
    if (!(await codes.endCode(trx, organizationId, id))) throw new AppError('verification.ended', 'the code was used');
    return storeVerified(deps, trx, organizationId, user, address, true);
  });
}

/** The hash covers the value, so that a code proves nothing about another one. */
function describeCode(organizationId: number, { id, name, value }: WholeAddress, code: string): string {
  return JSON.stringify([organizationId, id, name, value, code]);
}

/** Returns whether the channel can send a code to the address. */
export function canReach(
  { type, enabled, usable, paused, reach, accepts }: PlannedChannel,
  { name, value }: { name: string; value: string },
) {
  if (type !== addressKind(name) || !isPersonal(type) || type === 'inbox') return false;
  return enabled && usable && !paused && reach !== 'room' && (accepts?.(value) ?? true);
}

/** Prefers the organization's own channels, which belong to no project. */
async function findChannel(deps: Deps, organizationId: number, address: WholeAddress): Promise<PlannedChannel> {
  const channels = await deps.plans.listChannels(organizationId);
  const able = channels.filter(channel => canReach(channel, address));
  const channel = able.find(({ projectId }) => projectId === null) ?? able[0];
  if (channel) return channel;
  const kind = addressKind(address.name);
  throw new AppError(
    'verification.unreachable',
    `no channel of type ${kind} can reach it: add one, resume or enable it, or mark the address as verified`,
  );
}

/** Asks the providers of the channel in their order, until one may have sent it. */
async function send(
  deps: Deps,
  { slug, name }: { slug: string; name: string },
  channel: PlannedChannel,
  to: string,
  code: string,
  locale: string | undefined,
): Promise<{ result: SendResult; text: string }> {
  const options = { medium: channel.type, channel: channel.slug, locale };
  const content = renderMessage(message, { ...options, scope: codeScope(code, name) });
  const tags = { organization: slug, event: 'verification', notification: 'verification' };
  const rendered = { content, tags, ...(locale && { locale }) };
  let result: SendResult | undefined;
  for (const [i, planned] of channel.providers.entries()) {
    if (!acceptsAddress(planned, to)) continue;
    result = await sendNow(deps, channel, i, { to }, () => rendered);
    if (result.reason !== 'provider.failed') break;
  }
  return { result: result!, text: content.text };
}
