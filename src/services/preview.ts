/** A draft as its readers would see it, on each channel: nothing is stored or sent, and mistakes are part of the answer. */

import { type Medium, media, type NotificationEntry } from '../core/configuration/document.ts';
import { checkLayout, checkWords } from '../core/configuration/messages.ts';
import { decide, selectChannels } from '../core/decide.ts';
import { AppError, invalid } from '../core/errors.ts';
import { compileExpression, compilePredicate, expressionLimits, findFilterMistake } from '../core/expressions.ts';
import type { Json, JsonObject } from '../core/json.ts';
import {
  type CheckTemplate,
  type CompiledLayout,
  type Content,
  compileLayout,
  compileMessage,
  type LocalizedWords,
  type Words,
} from '../core/render/render.ts';
import { fold } from '../core/text.ts';
import type { Place } from '../db/organizations.ts';
import { findRecipientByName, listUsersAsRecipients, type Person } from '../db/recipients.ts';
import { filterInSlices } from '../lib/slices.ts';
import { circumstancesOf } from './deciding.ts';
import type { Deps } from './deps.ts';
import { optionsFor } from './messages.ts';
import type { EventPlan, PlannedChannel } from './plans.ts';
import { isPicked, strangerOf } from './recipients.ts';
import { renderContextFor } from './render-snapshots.ts';
import { sampleOccurrence } from './simulation.ts';
import { type DraftSteps, type PreviewedRun, previewSteps } from './step-preview.ts';

export interface Draft {
  message: NotificationEntry['message'];
  overrides?: NonNullable<NotificationEntry['overrides']>;
  extra_context?: JsonObject;
  context?: JsonObject;
  filter?: string;
  /** An expression over users. */
  users?: string;
  /** Username of the one to write to. */
  user?: string;
  /** In place of the reader's own. */
  locale?: string;
  /** Slugs or types. */
  channels?: string[];
  /** The body of a layout that is a draft too. */
  layout?: string;
  /** Contexts of the items of a digest, and how many more there are. */
  digest?: { items: JsonObject[]; more?: number };
  /** For a timeline of the one to write to. */
  steps?: DraftSteps['steps'];
  /** Name of the list of recipients. */
  list?: string;
}

export interface DraftMistake {
  field: string;
  line: number | null;
  column: number | null;
  message: string;
}

export interface ChannelPreview {
  channel: string;
  type: string;
  content: Content | null;
  missing: string[];
  /** Why there is no content. */
  problem: string | null;
}

export interface Preview {
  errors: DraftMistake[];
  filter: { value: Json; matches: boolean } | { error: string } | null;
  users: { matches: number; of: number } | { error: string } | null;
  /** Username of the one it was written to. */
  user: string;
  previews: ChannelPreview[];
  /** What the steps mean for that one. */
  timeline: PreviewedRun[] | null;
}

const mostChannels = 20;
const usersTried = 1_000;

type Shown = Pick<PlannedChannel, 'slug' | 'type'> & { planned?: PlannedChannel };

export async function previewDraft(
  deps: Deps,
  { organization, project, event }: Required<Place>,
  draft: Draft,
  mayReadUsers: boolean,
): Promise<Preview> {
  const plan = await deps.plans.findEvent(organization.id, event.id);
  if (!plan) throw new AppError('event.not_found', 'the event has been deleted meanwhile');
  const usable = await deps.plans.listUsable(organization.id, project.id);
  const reader = await findReader(deps, organization.id, draft.user, mayReadUsers);
  const person = draft.locale === undefined ? reader : { ...reader, locale: draft.locale };
  const { source, isKnown } = await deps.plans.findLayout(organization.id, project.id, draft.message.layout);
  const check = await deps.rendering.checkerOf(organization.id, textsOf(draft));
  const errors = findMistakes(draft, usable, isKnown, check);
  const layout = draft.layout === undefined || isWrong(errors, 'layout') ? source : draft.layout;
  const compiledLayout = layout === undefined ? undefined : compileLayout(layout, 'checked');
  const previews: ChannelPreview[] = [];
  for (const channel of chooseChannels(draft, plan, usable)) {
    previews.push(await write(deps, draft, errors, { plan, person, channel, layout, compiledLayout }));
  }
  return {
    errors,
    filter: tryFilter(draft.filter, draft.context ?? {}),
    users: mayReadUsers ? await tryUsers(deps, organization.id, draft.users) : null,
    user: person.username,
    previews,
    timeline: draft.steps
      ? await previewSteps(deps, plan, usable, person, {
          steps: draft.steps,
          recipients: { list: draft.list, users: draft.users },
        })
      : null,
  };
}

function textsOf({ message, overrides = {}, layout = '' }: Draft): string[] {
  const ofWords = ({ subject = '', body = '' }: Words) => [subject, body];
  const variants: LocalizedWords[] = [message, ...Object.values(overrides)];
  return [layout, ...variants.flatMap(words => [words, ...Object.values(words.locales ?? {})].flatMap(ofWords))];
}

function findMistakes(
  draft: Draft,
  usable: PlannedChannel[],
  layoutIsKnown: boolean,
  check: CheckTemplate,
): DraftMistake[] {
  const errors: DraftMistake[] = [];
  const complain = (at: string, text: string) => {
    const [, line, column, message] = /^line (\d+), column (\d+): (.*)$/s.exec(text) ?? [];
    const place = line ? { line: Number(line), column: Number(column) } : { line: null, column: null };
    errors.push({ field: at.replace(/^\//, ''), ...place, message: message ?? text });
  };
  checkWords(draft, '', complain, check);
  if (draft.layout !== undefined) checkLayout(draft.layout, 'layout', complain, check);
  else if (!layoutIsKnown) complain('message/layout', `there is no layout ${JSON.stringify(draft.message.layout)}`);
  const names = new Set(usable.flatMap(({ slug, type }) => [slug, type]));
  const unknown = (name: string) => `there is no channel of the slug or type ${JSON.stringify(name)}`;
  for (const name of Object.keys(draft.overrides ?? {})) {
    if (!names.has(name)) complain(`overrides/${name}`, unknown(name));
  }
  for (const [i, name] of (draft.channels ?? []).entries()) {
    if (!names.has(name) && !isMedium(name)) complain(`channels/${i}`, unknown(name));
  }
  return errors;
}

/** Those that were asked for; else those that the event's notifications name, and one of each other kind in use. */
function chooseChannels({ channels }: Draft, plan: EventPlan, usable: PlannedChannel[]): Shown[] {
  const shown = (channel: PlannedChannel): Shown => ({ slug: channel.slug, type: channel.type, planned: channel });
  const imagined = (type: string): Shown => ({ slug: type, type });
  if (channels) {
    const chosen = channels.flatMap(name => {
      const found = selectChannels([name], usable).map(shown);
      return found.length === 0 && isMedium(name) ? [imagined(name)] : found;
    });
    return [...new Map(chosen.map(channel => [channel.slug, channel])).values()].slice(0, mostChannels);
  }
  const named = selectChannels(
    plan.notifications.flatMap(notification => notification.channels),
    usable,
  );
  const others = usable.filter((channel, i) => usable.findIndex(one => one.type === channel.type) === i);
  const all = [...named, ...others.filter(channel => !named.some(one => one.type === channel.type))].map(shown);
  return (all.length > 0 ? all : [imagined('email')]).slice(0, mostChannels);
}

interface Scene {
  plan: EventPlan;
  person: Person;
  channel: Shown;
  layout: string | undefined;
  compiledLayout: CompiledLayout | undefined;
}

async function write(
  { rendering, plans }: Deps,
  draft: Draft,
  errors: DraftMistake[],
  { plan, person, channel, layout, compiledLayout }: Scene,
): Promise<ChannelPreview> {
  const { slug, type, planned } = channel;
  const preview: ChannelPreview = { channel: slug, type, content: null, missing: [], problem: null };
  const places = ['message/', `overrides/${slug}/`, `overrides/${type}/`, ...(type === 'email' ? ['layout'] : [])];
  const mistake = errors.find(({ field, line }) => line !== null && places.some(place => field.startsWith(place)));
  if (mistake) {
    const { field, line, column, message } = mistake;
    return { ...preview, problem: `${field}, line ${line}, column ${column}: ${message}` };
  }
  // Only what concerns this channel: what is wrong with the words of another stands in nobody's way.
  const overrides = Object.entries(draft.overrides ?? {}).filter(([name]) => name === slug || name === type);
  const address = planned
    ? (decide(planned, person, {}, circumstancesOf(plan, { priority: null }, {}, Date.now()))[0]?.address ?? null)
    : null;
  const occurrence = sampleOccurrence(draft.context ?? {}, Date.now());
  try {
    const { digest } = draft;
    const renderContext = renderContextFor(plan, channel, draft.extra_context ?? {}, digest?.items.length);
    const gathered = digest && {
      items: digest.items.map(context => sampleOccurrence(context, Date.now())),
      count: digest.items.length + (digest.more ?? 0),
    };
    const links = plans.linksFor(person, plan.topic.category, type);
    const words = { ...draft.message, overrides: Object.fromEntries(overrides) };
    const sources = () => ({ content: words, layout });
    const content = await rendering.render(plan.organization.id, compileMessage(words, 'checked'), sources, {
      ...optionsFor(renderContext, occurrence, person, address, links, {
        acknowledge_url: plans.acknowledgeUrlFor(person, occurrence.id, 'address'),
        step: 1,
        gathered,
      }),
      layout: compiledLayout,
    });
    return { ...preview, content, missing: content.missing };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...preview, problem: error.message };
  }
}

/** Empty is the same as none. */
function tryFilter(filter: string | undefined, context: JsonObject): Preview['filter'] {
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

async function tryUsers(
  { pool }: Deps,
  organizationId: number,
  expression: string | undefined,
): Promise<Preview['users']> {
  if (!expression) return null;
  const mistake = findFilterMistake(expression);
  if (mistake) return { error: mistake };
  const picks = compilePredicate(expression, expressionLimits.stepsForUser);
  const people = await listUsersAsRecipients(pool, organizationId, { after: 0, limit: usersTried });
  const picked = await filterInSlices(people, person => isPicked(picks, person));
  return { matches: picked.length, of: people.length };
}

/** The one that was asked for, else the first one, else, or for whoever may not know users, somebody made up. */
export async function findReader(
  { pool }: Deps,
  organizationId: number,
  username: string | undefined,
  mayReadUsers: boolean,
): Promise<Person> {
  if (username !== undefined) {
    if (!mayReadUsers)
      throw new AppError('key.permission', 'to write to a user takes the permission user:read as well');
    const person = await findRecipientByName(pool, organizationId, fold(username));
    if (!person) throw invalid({ user: [`there is no user ${JSON.stringify(username)}`] });
    return person;
  }
  const [first] = mayReadUsers ? await listUsersAsRecipients(pool, organizationId, { after: 0, limit: 1 }) : [];
  return first ?? { ...strangerOf({ username: 'ada@example.test', email: 'ada@example.test' }), ...ada };
}

const ada = { first_name: 'Ada', last_name: 'Lovelace' };

function isWrong(errors: DraftMistake[], field: string): boolean {
  return errors.some(error => error.field === field);
}

function isMedium(name: string): name is Medium {
  return (media as readonly string[]).includes(name);
}
