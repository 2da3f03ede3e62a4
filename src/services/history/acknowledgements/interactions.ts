/**
 * What recipients do in a chat or by a reply: acknowledge, snooze, resolve, take an action of the message, or ask who is on call. The service is
 * verified first. Then the person is recognized by an address of the channel's type, and the message by the signed token of
 * its button, which is valid only for the channel that sent it.
 */

import { AppError } from '../../../core/errors.ts';
import type { FeedbackRequest, Once } from '../../../core/feedback/event.ts';
import type { JsonObject } from '../../../core/json.ts';
import { lookUp } from '../../../core/lookup.ts';
import {
  type AcknowledgeState,
  acknowledgeTextsIn,
  describeAcknowledgement,
  isAcknowledgeReply,
} from '../../../core/message/acknowledge-texts.ts';
import { buttonSnooze, readButtonToken } from '../../../core/message/buttons.ts';
import { addressKind, fillText } from '../../../core/text/text.ts';
import { type AddressOwner, listAddressOwners } from '../../../db/audience/addresses.ts';
import { type FeedbackChannel, findFeedbackChannelAcrossTenants } from '../../../db/configuration/channel-feedback.ts';
import { type DeliveryRenderInput, findDelivery } from '../../../db/history/delivery-list.ts';
import { findNewestOpen } from '../../../db/history/escalations.ts';
import { rememberSignature } from '../../../db/history/feedback/received-signatures.ts';
import { findOccurrencesAcrossTenants } from '../../../db/history/occurrences.ts';
import { noteAction } from '../../../db/ledger/expand/canaries.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { interactionPath } from '../../../pipeline/buttons.ts';
import { openSecrets } from '../../../pipeline/channel-secrets.ts';
import type { StoredMessage } from '../../../pipeline/plans.ts';
import type {
  Command,
  Interaction,
  InteractionResponse,
  Interactions,
  Providers,
} from '../../../providers/provider.ts';
import { resolveEventPath } from '../../configuration/events.ts';
import { requireHere } from '../../configuration/paths/moves.ts';
import type { Deps } from '../../deps.ts';
import type { SignedDocuments } from '../feedback/requests.ts';
import { triggerEvent } from '../triggers.ts';
import { acknowledge, resolve, snooze } from './acknowledgements.ts';
import { acknowledgeBundle, describeBundleAnswer, findBundle } from './bundles.ts';
import { answerCommand } from './commands.ts';

export interface InteractionAddress extends FeedbackChannel {
  /** Several if the channel uses a provider with several accounts. */
  sources: Interactions[];
}

/** An address, and the account at the service that a request came from. */
interface Origin extends FeedbackChannel {
  source: Interactions;
  once: Once | undefined;
  now: number;
}

/** Returns the providers of a channel whose services report interactions. */
function interactionSourcesOf(
  providers: Providers,
  entries: readonly JsonObject[],
  secrets: readonly JsonObject[],
): { provider: string; source: Interactions }[] {
  return entries.flatMap(({ use, ...settings }, i) => {
    const provider = lookUp(providers, String(use));
    const source = provider?.interactions?.({ ...settings, ...secrets[i] });
    return provider && source ? [{ provider: provider.name, source }] : [];
  });
}

/** Where the service of a provider posts pressed buttons and replies to. */
export interface InteractionAddressView {
  provider: string;
  path: string;
  /** Where it is entered; contains `{url}` where the address belongs, if at all. */
  setup: string;
  /** Whether requests can be verified; false: the secret of the service is missing. */
  ready: boolean;
}

/** Lists the addresses that are entered at the services of a channel, one for each provider. */
export function interactionAddressesOf(
  providers: Providers,
  channel: { providers: readonly JsonObject[]; feedback_token: string },
  secrets: readonly JsonObject[],
): InteractionAddressView[] {
  const sources = interactionSourcesOf(providers, channel.providers, secrets);
  return sources.flatMap(({ provider, source: { setup } }, i) => {
    const same = sources.filter(one => one.provider === provider);
    if (setup === undefined || same[0] !== sources[i]) return [];
    const ready = same.every(({ source }) => source.isReady);
    return [{ provider, path: interactionPath(channel.feedback_token, provider), setup, ready }];
  });
}

/** Finds the channel of an address. Undefined: there is none, or it has no such provider. */
export async function findInteractionAddress(
  { db, cipher, providers, tenantCache }: Deps,
  token: string,
  name: string,
): Promise<InteractionAddress | undefined> {
  await requireHere({ tenantCache }, { feedbackToken: token });
  const channel = await findFeedbackChannelAcrossTenants(db, token);
  if (!channel) return undefined;
  await requireHere({ tenantCache }, { id: channel.organization_id });
  const secrets = openSecrets(cipher, channel.organization_id, channel);
  const sources = interactionSourcesOf(providers, channel.providers, secrets)
    .filter(({ provider }) => provider === name)
    .map(({ source }) => source);
  return sources.length === 0 ? undefined : { ...channel, sources };
}

/** Does what a request asks for and returns the response. Throws `interaction.refused` if the service did not send it. */
export async function receiveInteraction(
  deps: Deps,
  { sources, ...channel }: InteractionAddress,
  request: FeedbackRequest,
  documents: SignedDocuments,
): Promise<InteractionResponse> {
  const now = currentTime();
  const tools = { now, fetchText: (url: string) => documents.read(url, now) };
  const checked = await Promise.all(
    sources.map(async source => ({ source, verified: await source.verify(request, tools) })),
  );
  const genuine = checked.find(({ verified }) => verified.ok);
  if (!genuine) {
    const [reason] = checked.flatMap(({ verified }) => (verified.ok ? [] : [verified.reason]));
    throw new AppError('interaction.refused', reason!);
  }
  const { source, verified } = genuine;
  const origin = { ...channel, source, once: verified.ok ? verified.once : undefined, now };
  let read: Interaction | InteractionResponse;
  try {
    read = source.read(request);
  } catch (error) {
    throw new AppError('request.malformed', `the body ${(error as Error).message}`);
  }
  if (!('addresses' in read)) return read;
  const text = read.command
    ? await command(deps, origin, read, read.command)
    : read.token === undefined
      ? await answerReply(deps, origin, read)
      : await press(deps, origin, read);
  return source.answer(text, read, deps);
}

/** Everyone who may press buttons may ask who is on call; only a user of the organization may page. */
async function command(deps: Deps, address: Origin, interaction: Interaction, written: Command): Promise<string> {
  const { organization_id: organizationId, id: channelId, project_id: projectId, source } = address;
  const [user] = await findUsers(deps, address, interaction);
  const unknown = describeUnknown(address, interaction);
  if (!user && !source.anyoneMayAct) return unknown;
  const findOwners = (addresses: string[]) => findUsers(deps, address, { ...interaction, addresses });
  const origin = { organizationId, channelId, projectId, where: source.where, user, unknown, findOwners };
  return answerCommand(deps, origin, written);
}

function describeUnknown({ type }: Origin, { addresses }: Interaction): string {
  return fillText(acknowledgeTextsIn(undefined).unknownUser, { address: `${type} ${addresses[0] ?? ''}` });
}

/** Acknowledges the newest open escalation that was sent to a person. Unknown numbers and other texts by SMS get no answer: each costs money. */
async function answerReply(deps: Deps, address: Origin, interaction: Interaction) {
  if (!isAcknowledgeReply(interaction.reply ?? '')) return interaction.greeting;
  const [user] = await findUsers(deps, address, interaction);
  if (!user) return interaction.greeting;
  if (!address.once) throw new AppError('interaction.refused', 'nothing in the request identifies the reply');
  const { addresses, repliedAt: before = new Date(address.now) } = interaction;
  const open = await findNewestOpen(deps.db, address.organization_id, address.id, { addresses, before });
  const { isSameBody } = await remember(deps, address, address.once, open?.bundle ?? open?.id ?? 'none');
  // A repetition of the request must not acknowledge what was sent after the reply, nor another one that is open.
  if (!isSameBody) return undefined;
  if (open === undefined) return acknowledgeTextsIn(user.locale).nothingOpen;
  const by = `${user.username} ${address.source.where}`;
  if (open.bundle && (await findBundle(deps, address.organization_id, open.bundle)).length > 1) {
    return describeBundleAnswer(
      user.locale,
      await acknowledgeBundle(deps, address.organization_id, open.bundle, by, user.id),
    );
  }
  return describeChange(user.locale, () => acknowledge(deps, address.organization_id, open.id, by, user.id));
}

/** Its notifications may have no steps any more, or each of its recipients acknowledges on their own. */
async function describeChange(
  locale: string | null | undefined,
  change: () => Promise<AcknowledgeState>,
): Promise<string> {
  const texts = acknowledgeTextsIn(locale);
  try {
    return describeAcknowledgement(locale, await change()) ?? texts.over;
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'conflict') throw error;
    return fillText(texts.notTaken, { reason: error.message });
  }
}

/** Remembers a signature with what it was used for, and returns its first use. */
function remember(deps: Deps, { organization_id, id, now }: Origin, { signature, until }: Once, body: string) {
  const expiresAt = until === null ? null : new Date(until);
  return rememberSignature(deps.db, organization_id, id, { signature, body, receivedAt: new Date(now), expiresAt });
}

/** How long pressing an action again is taken for a retry. Idempotency keys are kept longer. */
const retryMs = 24 * 3_600_000;

/** Returns what to answer to the person who pressed a button. */
async function press(deps: Deps, address: Origin, interaction: Interaction): Promise<string> {
  const { organization_id, source } = address;
  const button = readButtonToken(interaction.token!, deps.signer.isSignedShort);
  const isOwn = button?.organizationId === organization_id;
  const delivery = isOwn ? await findDelivery(deps.db, organization_id, button.occurrence, button.id) : undefined;
  const isStale = !isOwn || (delivery !== undefined && delivery.channel_id !== address.id);
  if (isStale && source.isTokenProof) throw forgedButton();
  const users = await findUsers(deps, address, interaction);
  // The service would repeat a request that is refused, and the person would see nothing.
  if (isStale) return acknowledgeTextsIn(users[0]?.locale).stale;
  const user = users.find(({ id }) => id === delivery?.user_id) ?? users[0];
  const texts = acknowledgeTextsIn(user?.locale);
  if (!user && !source.anyoneMayAct) return describeUnknown(address, interaction);
  const [occurrence] = await findOccurrencesAcrossTenants(deps.pool, [
    { organizationId: organization_id, id: button.occurrence },
  ]);
  if (!delivery || !occurrence || occurrence.cancelled_at) return texts.over;
  const by = `${user?.username ?? toName(interaction.name)} ${source.where}`;
  if (button.choice === 'b') {
    if (delivery.digest_id === null) return texts.over;
    return describeBundleAnswer(
      user?.locale,
      await acknowledgeBundle(deps, organization_id, delivery.digest_id, by, user?.id),
    );
  }
  if (button.choice === 'a' || button.choice === 'r') {
    const change = () =>
      button.choice === 'a'
        ? acknowledge(deps, organization_id, button.occurrence, by, user?.id)
        : resolve(deps, organization_id, button.occurrence, by);
    const text = await describeChange(user?.locale, change);
    await noteAction(deps.db, organization_id, button.occurrence, button.id);
    return text;
  }
  if (button.choice === 's') {
    const until = { for: buttonSnooze };
    return describeChange(user?.locale, () => snooze(deps, organization_id, button.occurrence, until, by));
  }
  const { receivedAt } = await remember(deps, address, { signature: `button ${interaction.token}`, until: null }, '');
  if (receivedAt.getTime() < address.now - retryMs) return texts.over;
  try {
    const label = await takeAction(deps, { ...button, by, user, delivery, occurrence });
    if (label === undefined) return texts.over;
    await noteAction(deps.db, organization_id, button.occurrence, button.id);
    return fillText(texts.taken, { label });
  } catch (error) {
    // The event was deleted, or refuses the context. The service must not repeat the request, so this is an answer.
    if (!(error instanceof AppError) || error.kind === 'unavailable' || error.kind === 'internal') throw error;
    return fillText(texts.notTaken, { reason: error.message });
  }
}

interface Action {
  organizationId: number;
  id: number;
  choice: string;
  by: string;
  user: AddressOwner | undefined;
  delivery: DeliveryRenderInput;
  occurrence: { id: string; event_id: number; context: JsonObject };
}

/**
 * Triggers the event of an action, with the context of the original trigger plus `action`. Returns the name of the action;
 * undefined if the message has been deleted. Pressing again triggers nothing: the key is the same.
 */
async function takeAction(deps: Deps, { organizationId, id, choice, by, user, delivery, occurrence }: Action) {
  const [message, plan] = await Promise.all([
    deps.plans.findMessage(organizationId, delivery.notification_id, delivery.version, {
      isResolution: delivery.step < 0,
    }),
    deps.plans.findEvent(organizationId, occurrence.event_id),
  ]);
  const { actions = [] } = (message?.source as unknown as StoredMessage | undefined)?.message ?? {};
  const { name, event: evt } = actions[Number(choice)] ?? {};
  if (name === undefined || evt === undefined || !plan) return undefined;
  const slugs = { org: plan.organization.slug, prj: plan.project.slug, app: plan.application.slug, evt };
  const path = await resolveEventPath(deps, slugs);
  const action = { name, occurrence: occurrence.id, by, username: user?.username ?? null };
  const context = { ...occurrence.context, action };
  await triggerEvent(deps, path, { context, idempotencyKey: `action-${occurrence.id}.${id}-${name}` });
  return name;
}

/** Returns the users who have an address of the person. */
async function findUsers(
  deps: Deps,
  { organization_id, type, source }: Origin,
  interaction: Interaction,
): Promise<AddressOwner[]> {
  const find = async (values: string[]) =>
    (await listAddressOwners(deps.db, organization_id, values)).filter(({ name }) => addressKind(name) === type);
  const found = await find(interaction.addresses);
  if (found.length > 0 || !source.lookUp) return found;
  const more = await source.lookUp(interaction, deps);
  return more.length === 0 ? [] : find(more);
}

/** A name at the service is chosen by the person. */
function toName(name: string): string {
  return (
    name
      .replace(/[\p{Cc}\s]+/gu, ' ')
      .trim()
      .slice(0, 100) || 'unknown'
  );
}

function forgedButton(): AppError {
  return new AppError('interaction.refused', 'the button was not sent by this channel');
}
