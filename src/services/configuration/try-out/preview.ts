/** Renders a draft for each channel. Nothing is stored or sent, and mistakes are part of the result. */

import type { NotificationEntry } from '../../../core/configuration/document.ts';
import { checkLayout, checkMessage } from '../../../core/configuration/messages.ts';
import { type Medium, media } from '../../../core/configuration/nouns/schemas.ts';
import { decide, personal, selectChannels } from '../../../core/decision/decide.ts';
import { AppError, invalid } from '../../../core/errors.ts';
import {
  compileExpression,
  compilePredicate,
  expressionLimits,
  findFilterMistake,
} from '../../../core/expressions/expressions.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import type { JsonObject } from '../../../core/json.ts';
import { findMentionedSchedules } from '../../../core/render/on-call.ts';
import {
  type CheckTemplate,
  type CompiledLayout,
  compileLayout,
  compileMessage,
  type LocalizedText,
  type MessageText,
} from '../../../core/render/render.ts';
import { fold } from '../../../core/text/text.ts';
import {
  findRecipientByName,
  findRecipientsByNameAcrossTenants,
  listMembersAsRecipients,
  listProjectMembersAsRecipients,
  listUsersAsRecipients,
  type RecipientRecord,
} from '../../../db/audience/recipients.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';
import { filterInSlices } from '../../../lib/load/slices.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { circumstancesOf } from '../../../pipeline/decide.ts';
import type { EventPlan } from '../../../pipeline/event-plan.ts';
import { optionsFor } from '../../../pipeline/messages.ts';
import type { PlannedChannel } from '../../../pipeline/plans.ts';
import { filterVisible, isPicked, unknownRecipient } from '../../../pipeline/recipients.ts';
import { type RenderContext, renderContextFor } from '../../../pipeline/rendering/render-snapshots.ts';
import type { Deps } from '../../deps.ts';
import { sampleOccurrence } from './simulation.ts';
import { type DraftSteps, previewSteps } from './step-preview.ts';

export interface Draft {
  message: NotificationEntry['message'];
  overrides?: NonNullable<NotificationEntry['overrides']>;
  extra_context?: JsonObject;
  context?: JsonObject;
  filter?: string;
  /** An expression over users. */
  users?: string;
  /** Username of the recipient to render for. */
  user?: string;
  /** Overrides the recipient's locale. */
  locale?: string;
  /** Slugs or types. */
  channels?: string[];
  /** Body of a draft layout. */
  layout?: string;
  /** Contexts of the items of a digest, and how many more there are. */
  digest?: { items: JsonObject[]; more?: number };
  /** Steps for the recipient's timeline. */
  steps?: DraftSteps['steps'];
  /** Name of the list of recipients. */
  list?: string;
  /** Slug of the schedule of recipients, and how many changes ahead they are. */
  schedule?: string;
  offset?: number;
}

interface DraftMistake {
  field: string;
  line: number | null;
  column: number | null;
  message: string;
}

const noAcknowledgeUrl =
  '{{ acknowledge_url }} is empty, because the service does not know its public address: ask the operator to set BASE_URL';
const localAcknowledgeUrl =
  '{{ acknowledge_url }} leads to this machine only, because BASE_URL is not set: ask the operator to set it';

const maxChannels = 20;
const maxUsersChecked = 1_000;
const maxMembersChecked = 20;

type PreviewChannel = Pick<PlannedChannel, 'slug' | 'type'> & { planned?: PlannedChannel };

export async function previewDraft(
  deps: Deps,
  { organization, project, event }: Required<ResolvedPath>,
  draft: Draft,
  visible: VisibleUsers,
) {
  const plan = await deps.plans.findEvent(organization.id, event.id);
  if (!plan) throw new AppError('event.not_found', 'the event has been deleted in the meantime');
  const usable = await deps.plans.listUsable(organization.id, project.id);
  const path = { organization, project };
  const matching = await findMatchingUsers(deps, path, draft.users, visible);
  const ownRecipient =
    draft.user === undefined && visible !== 'none'
      ? await findOwnRecipient(deps, plan, draft, matching, visible)
      : undefined;
  const found = ownRecipient ?? (await findSampleRecipient(deps, path, draft.user, visible));
  const recipient = draft.locale === undefined ? found : { ...found, locale: draft.locale };
  const { source, isKnown } = await deps.plans.findLayout(organization.id, project.id, draft.message.layout);
  const check = await deps.rendering.createChecker(organization.id, textsOf(draft));
  const errors = findMistakes(draft, usable, isKnown, check);
  const layout = draft.layout === undefined || hasMistake(errors, 'layout') ? source : draft.layout;
  const compiledLayout = layout === undefined ? undefined : compileLayout(layout, 'checked');
  const mentioned = findMentionedSchedules([JSON.stringify([draft.message, draft.overrides ?? {}]), layout].join());
  const oncall = await deps.plans.describeOnCall(plan, mentioned, currentTime(), visible);
  const previews: Awaited<ReturnType<typeof renderPreview>>[] = [];
  for (const channel of chooseChannels(draft, plan, usable)) {
    const target = { plan, recipient, channel, layout, compiledLayout, oncall };
    previews.push(await renderPreview(deps, draft, errors, target));
  }
  return {
    errors,
    filter: evaluateFilter(draft.filter, draft.context ?? {}),
    users: matching && ('error' in matching ? matching : { matches: matching.picked.length, of: matching.of }),
    user: recipient.username,
    previews,
    timeline: draft.steps
      ? await previewSteps(deps, plan, usable, recipient, {
          steps: draft.steps,
          recipients: { list: draft.list, users: draft.users, schedule: draft.schedule, offset: draft.offset },
        })
      : null,
    warnings: warnOfAcknowledgeUrl(deps, draft, recipient),
  };
}

/** Warns if the draft uses the acknowledge link, and recipients could not follow it. */
function warnOfAcknowledgeUrl({ plans }: Deps, draft: Draft, recipient: RecipientRecord): string[] {
  if (draft.context?.acknowledge_url !== undefined) return [];
  if (!textsOf(draft).some(text => text.includes('acknowledge_url'))) return [];
  const url = plans.acknowledgeUrlFor(recipient, sampleOccurrence({}, currentTime()).id, 'address');
  if (url === '') return [noAcknowledgeUrl];
  return /^http:\/\/(localhost|127\.[\d.]+|\[::1\])[:/]/.test(url) ? [localAcknowledgeUrl] : [];
}

function textsOf({ message, overrides = {}, layout = '' }: Draft): string[] {
  const textsIn = ({ subject = '', body = '' }: MessageText) => [subject, body];
  const variants: LocalizedText[] = [message, ...Object.values(overrides)];
  return [layout, ...variants.flatMap(variant => [variant, ...Object.values(variant.locales ?? {})].flatMap(textsIn))];
}

function findMistakes(
  draft: Draft,
  usable: PlannedChannel[],
  layoutExists: boolean,
  check: CheckTemplate,
): DraftMistake[] {
  const errors: DraftMistake[] = [];
  const report = (at: string, text: string) => {
    const [, line, column, message] = /^line (\d+), column (\d+): (.*)$/s.exec(text) ?? [];
    const position = line ? { line: Number(line), column: Number(column) } : { line: null, column: null };
    errors.push({ field: at.replace(/^\//, ''), ...position, message: message ?? text });
  };
  checkMessage(draft, '', report, check);
  if (draft.layout !== undefined) checkLayout(draft.layout, 'layout', report, check);
  else if (!layoutExists) report('message/layout', `there is no layout ${JSON.stringify(draft.message.layout)}`);
  const names = new Set(usable.flatMap(({ slug, type }) => [slug, type]));
  const unknown = (name: string) => `there is no channel with the slug or type ${JSON.stringify(name)}`;
  for (const name of Object.keys(draft.overrides ?? {})) {
    if (!names.has(name)) report(`overrides/${name}`, unknown(name));
  }
  for (const [i, name] of (draft.channels ?? []).entries()) {
    if (!names.has(name) && !isMedium(name) && name !== personal) report(`channels/${i}`, unknown(name));
  }
  return errors;
}

/** Returns the requested channels; by default those of the event's notifications and one of each other type in use. */
function chooseChannels({ channels }: Draft, plan: EventPlan, usable: PlannedChannel[]): PreviewChannel[] {
  const shown = (channel: PlannedChannel): PreviewChannel => ({
    slug: channel.slug,
    type: channel.type,
    planned: channel,
  });
  const sampleChannel = (type: string): PreviewChannel => ({ slug: type, type });
  if (channels) {
    const chosen = channels.flatMap(name => {
      const found = selectChannels([name], usable).map(shown);
      return found.length === 0 && isMedium(name) ? [sampleChannel(name)] : found;
    });
    return [...new Map(chosen.map(channel => [channel.slug, channel])).values()].slice(0, maxChannels);
  }
  const named = selectChannels(
    plan.notifications.flatMap(notification => notification.channels),
    usable,
  );
  const others = usable.filter((channel, i) => usable.findIndex(one => one.type === channel.type) === i);
  const all = [...named, ...others.filter(channel => !named.some(one => one.type === channel.type))].map(shown);
  return (all.length > 0 ? all : [sampleChannel('email')]).slice(0, maxChannels);
}

interface PreviewTarget {
  plan: EventPlan;
  recipient: RecipientRecord;
  channel: PreviewChannel;
  layout: string | undefined;
  compiledLayout: CompiledLayout | undefined;
  oncall: RenderContext['oncall'];
}

async function renderPreview(
  { rendering, plans }: Deps,
  draft: Draft,
  errors: DraftMistake[],
  { plan, recipient, channel, layout, compiledLayout, oncall }: PreviewTarget,
) {
  const { slug, type, planned } = channel;
  const preview = { channel: slug, type, content: null, missing: [], problem: null };
  const prefixes = ['message/', `overrides/${slug}/`, `overrides/${type}/`, ...(type === 'email' ? ['layout'] : [])];
  const mistake = errors.find(({ field, line }) => line !== null && prefixes.some(prefix => field.startsWith(prefix)));
  if (mistake) {
    const { field, line, column, message } = mistake;
    return { ...preview, problem: `${field}, line ${line}, column ${column}: ${message}` };
  }
  // Only this channel's overrides, so that mistakes in those of other channels do not matter.
  const overrides = Object.entries(draft.overrides ?? {}).filter(([name]) => name === slug || name === type);
  const address = planned
    ? (decide(planned, recipient, {}, circumstancesOf(plan, { priority: null }, {}, currentTime()))[0]?.address ?? null)
    : null;
  const occurrence = sampleOccurrence(draft.context ?? {}, currentTime());
  try {
    const { digest } = draft;
    const renderContext = {
      ...renderContextFor(plan, channel, draft.extra_context ?? {}, digest?.items.length),
      ...(oncall && { oncall }),
    };
    const digestItems = digest && {
      items: digest.items.map(context => sampleOccurrence(context, currentTime())),
      count: digest.items.length + (digest.more ?? 0),
    };
    const links = plans.linksFor(recipient, plan.topic.category, type);
    const message = { ...draft.message, overrides: Object.fromEntries(overrides) };
    const sources = () => ({ content: message, layout });
    const content = await rendering.render(plan.organization.id, compileMessage(message, 'checked'), sources, {
      ...optionsFor(renderContext, occurrence, recipient, {
        address,
        links,
        acknowledge_url: plans.acknowledgeUrlFor(recipient, occurrence.id, 'address'),
        step: 1,
        digestItems,
      }),
      layout: compiledLayout,
    });
    return { ...preview, content, missing: content.missing };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...preview, problem: error.message };
  }
}

/** An empty filter is treated as none. */
function evaluateFilter(filter: string | undefined, context: JsonObject) {
  if (!filter) return null;
  const mistake = findFilterMistake(filter);
  if (mistake) return { error: mistake };
  try {
    const { value, isTrue } = compileExpression(filter)(context);
    return { value, matches: isTrue };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

type MatchingUsers = { picked: RecipientRecord[]; of: number } | { error: string } | null;

/** Without the permission to read users, the expression is not evaluated: its matches would answer questions about them. */
async function findMatchingUsers(
  deps: Deps,
  path: ProjectPath,
  expression: string | undefined,
  visible: VisibleUsers,
): Promise<MatchingUsers> {
  if (!expression || visible === 'none') return null;
  const mistake = findFilterMistake(expression);
  if (mistake) return { error: mistake };
  const picks = compilePredicate(expression, expressionLimits.stepsForUser);
  const users = await listVisible(deps, path, visible, maxUsersChecked);
  const picked = await filterInSlices(users, user => isPicked(picks, user));
  return { picked, of: users.length };
}

/**
 * Returns a recipient of the draft, if possible one who is notified. Undefined if there is none, or if only a
 * trigger names them.
 */
async function findOwnRecipient(
  { pool, plans }: Deps,
  { organization, project }: EventPlan,
  { list = '', schedule = '', offset = 0, steps = [] }: Draft,
  matching: MatchingUsers,
  visible: VisibleUsers,
): Promise<RecipientRecord | undefined> {
  const key = fold(list || (steps.find(step => step.recipients?.list)?.recipients?.list ?? ''));
  const page = { after: 0, limit: maxMembersChecked };
  const members = key ? await listMembersAsRecipients(pool, organization.id, project.id, key, page) : [];
  const audience = schedule ? { schedule, offset } : steps.find(step => step.recipients?.schedule)?.recipients;
  const planned = audience && (await plans.findSchedule(organization.id, project.id, audience.schedule ?? ''));
  const named = (planned?.usersAt(currentTime(), audience?.offset ?? 0) ?? []).map(username => ({
    organizationId: organization.id,
    username,
  }));
  const onCall = await filterVisible(pool, await findRecipientsByNameAcrossTenants(pool, named), project.id, visible);
  const users = [...members, ...(matching && 'picked' in matching ? matching.picked : []), ...onCall];
  const found = users.find(({ locked, member }) => !locked && member?.active !== false) ?? users[0];
  return found && { ...found, member: undefined };
}

interface ProjectPath {
  organization: { id: number };
  project: { id: number };
}

async function listVisible(
  { pool }: Deps,
  { organization, project }: ProjectPath,
  visible: VisibleUsers,
  limit: number,
): Promise<RecipientRecord[]> {
  if (visible === 'none') return [];
  return visible === 'all'
    ? listUsersAsRecipients(pool, organization.id, { after: 0, limit })
    : listProjectMembersAsRecipients(pool, organization.id, project.id, limit);
}

/** Returns the requested user, or the first one. Without users that the caller may see, returns a sample. */
export async function findSampleRecipient(
  deps: Deps,
  path: ProjectPath,
  username: string | undefined,
  visible: VisibleUsers,
): Promise<RecipientRecord> {
  if (username !== undefined) {
    if (visible === 'none') throw new AppError('key.permission', 'naming a user requires the permission user:read');
    const { organization, project } = path;
    const found = await findRecipientByName(deps.pool, organization.id, fold(username));
    const [recipient] = found ? await filterVisible(deps.pool, [found], project.id, visible) : [];
    if (!recipient) throw invalid({ user: [`there is no user ${JSON.stringify(username)}`] });
    return recipient;
  }
  const [first] = await listVisible(deps, path, visible, 1);
  return first ?? { ...unknownRecipient({ username: 'ada@example.test', email: 'ada@example.test' }), ...sampleName };
}

const sampleName = { first_name: 'Ada', last_name: 'Lovelace' };

function hasMistake(errors: DraftMistake[], field: string): boolean {
  return errors.some(error => error.field === field);
}

function isMedium(name: string): name is Medium {
  return (media as readonly string[]).includes(name);
}
