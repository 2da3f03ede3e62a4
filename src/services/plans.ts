/**
 * What an event means, ready to use: filters and messages compiled, channels with their providers and open secrets.
 * Remembered like everything in the tenant cache, until a change of the organization is announced.
 */
import type { DecidingChannel, DecidingNotification } from '../core/decide.ts';
import { compileDigestEnd, type Digest, digestLimits } from '../core/digest.ts';
import { parseDuration } from '../core/durations.ts';
import { AppError } from '../core/errors.ts';
import { compilePredicate, expressionLimits } from '../core/expressions.ts';
import { compileGroupKey } from '../core/group-key.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { generalCategory, type Topic } from '../core/preferences.ts';
import { defaultLayout } from '../core/render/layout-default.ts';
import {
  type CompiledLayout,
  type CompiledMessage,
  compileLayout,
  compileMessage,
  type MessageContent,
} from '../core/render/render.ts';
import { tellResolved } from '../core/render/resolved.ts';
import { asksForAcknowledgement, giveUpMs, isUnlessWord, listRuns, type Step, type StepRun } from '../core/steps.ts';
import { fold } from '../core/text.ts';
import type { Throttle } from '../core/throttle.ts';
import { listAllLayouts } from '../db/layouts.ts';
import {
  type ChannelRow,
  type EventRow,
  findEventPlan,
  findMessage,
  listPlannedChannels,
  type NotificationRow,
} from '../db/plans.ts';
import type { Db } from '../db/pool.ts';
import type { Cipher } from '../lib/cipher.ts';
import type { Provider, Providers } from '../providers/provider.ts';
import { openSecrets } from './channel-secrets.ts';
import type { AcknowledgeUrlFor, LinksFor } from './message-links.ts';
import type { Rendering } from './rendering.ts';
import type { Entries, TenantCache } from './tenant-cache.ts';

export interface PlannedNotification extends DecidingNotification {
  id: number;
  name: string;
  recipients: NotificationRow['recipients'];
  /** Whether an expression over users picks this one. */
  picks: ((user: unknown) => boolean) | undefined;
  extraContext: JsonObject;
  /** Its own; null: not stated. */
  priority: number | null;
  throttle: PlannedThrottle | undefined;
  digest: PlannedDigest | undefined;
  /** How many items its digests have in their message; undefined where nothing of it gathers. */
  mostItems: number | undefined;
  /** Undefined: everybody is told at once. */
  steps: PlannedSteps | undefined;
  /** Whether these are one step's recipients, to whom nobody is added whom the trigger names. */
  hasOwnRecipients?: boolean;
  version: number;
}

export interface PlannedSteps {
  steps: PlannedStep[];
  runs: StepRun[];
  giveUpMs: number;
  asksForAcknowledgement: boolean;
  notifyResolved: boolean;
}

export interface PlannedStep {
  /** The notification as this step sends it. */
  notification: PlannedNotification;
  /** A word, or the expression. */
  unless: string | undefined;
  /** Whether an expression says that it is left out; undefined where it is a word, or absent. */
  isLeftOut: ((facts: unknown) => boolean) | undefined;
}

export interface PlannedThrottle {
  most: number;
  perMs: number;
  /** What a message is counted by. */
  keyOf: (context: JsonObject) => string;
  /** Whether what is over gathers in a digest. */
  gathers: boolean;
}

export interface PlannedDigest {
  /** When one closes that opens now, for somebody in that zone. */
  endsAt: (timezone: string, now: number) => number;
  /** What a message gathers by. */
  keyOf: (context: JsonObject) => string;
  isFirstSent: boolean;
}

export interface EventPlan extends Omit<EventRow, 'notifications' | 'category'> {
  /** What preferences are asked about. */
  topic: Topic;
  notifications: PlannedNotification[];
}

export interface PlannedProvider {
  provider: Provider;
  settings: JsonObject;
}

export interface PlannedChannel extends DecidingChannel {
  organizationId: number;
  projectId: number | null;
  paused: boolean;
  onUnknown: 'resend' | 'hold';
  ratePerSecond: number | null;
  concurrency: number | null;
  /** Throws `secret.unreadable`. */
  readonly providers: PlannedProvider[];
}

export interface PlannedMessage extends CompiledMessage {
  /** What it stands in as an email; undefined: the usual one. */
  compiledLayout: CompiledLayout | undefined;
  /** What it was compiled from, and its layout. */
  source: Json;
  layoutSource: string;
}

interface PlannedLayout {
  projectId: number | null;
  key: string;
  body: string;
  /** Once for all messages that stand in it, and not before the first of them. */
  compiled: () => CompiledLayout;
}

/** As `messages.content` keeps it: the words, and what differs on a channel. */
export interface StoredMessage {
  message: MessageContent;
  overrides: NonNullable<MessageContent['overrides']>;
}

/** Its own, as Deps holds the plans. */
interface PlanDeps {
  db: Db;
  tenantCache: TenantCache;
  cipher: Cipher;
  providers: Providers;
}

export class Plans {
  /** What writes their messages. */
  readonly rendering: Rendering;
  /** Where they lead their recipients to. */
  readonly linksFor: LinksFor;
  /** Where they can be acknowledged; empty where nobody knows the public address. */
  readonly acknowledgeUrlFor: AcknowledgeUrlFor;
  readonly #deps: PlanDeps;
  readonly #events: Entries<EventPlan> = new Map();
  readonly #channels: Entries<PlannedChannel[]> = new Map();
  readonly #messages: Entries<PlannedMessage> = new Map();
  readonly #layouts: Entries<PlannedLayout[]> = new Map();

  constructor(deps: PlanDeps & { rendering: Rendering; linksFor?: LinksFor; acknowledgeUrlFor?: AcknowledgeUrlFor }) {
    this.#deps = deps;
    this.rendering = deps.rendering;
    this.linksFor = deps.linksFor ?? (() => undefined);
    this.acknowledgeUrlFor = deps.acknowledgeUrlFor ?? (() => '');
  }

  /** Undefined when the event has been deleted. */
  async findEvent(organizationId: number, eventId: number): Promise<EventPlan | undefined> {
    const { db, tenantCache } = this.#deps;
    return tenantCache.getOrRead(
      this.#events,
      `${organizationId}/${eventId}`,
      async () => {
        const row = await findEventPlan(db, organizationId, eventId);
        return row && planEvent(row);
      },
      () => organizationId,
    );
  }

  async listChannels(organizationId: number): Promise<PlannedChannel[]> {
    const { db, tenantCache } = this.#deps;
    const channels = await tenantCache.getOrRead(
      this.#channels,
      String(organizationId),
      async () => (await listPlannedChannels(db, organizationId)).map(row => this.#planChannel(organizationId, row)),
      () => organizationId,
    );
    return channels ?? [];
  }

  /** What the events of a project may use: its own channels first, then the organization's. */
  async listUsable(organizationId: number, projectId: number): Promise<PlannedChannel[]> {
    const all = await this.listChannels(organizationId);
    return [
      ...all.filter(({ projectId: own }) => own === projectId),
      ...all.filter(({ projectId: own }) => own === null),
    ];
  }

  /** A version never changes, so it is compiled once; the layout it stands in is the one of today. */
  async findMessage(
    organizationId: number,
    notificationId: number,
    version: number,
    /** Whether it is to say that the occurrence is resolved. */
    isResolution = false,
  ): Promise<PlannedMessage | undefined> {
    const { db, tenantCache } = this.#deps;
    return tenantCache.getOrRead(
      this.#messages,
      `${organizationId}/${notificationId}/${version}${isResolution ? '/resolved' : ''}`,
      async () => {
        const row = await findMessage(db, organizationId, notificationId, version);
        if (row === undefined) return undefined;
        const stored = row.content as unknown as StoredMessage;
        const { overrides = {}, ...message } = isResolution
          ? tellResolved({ ...stored.message, overrides: stored.overrides })
          : { ...stored.message, overrides: stored.overrides };
        const layouts = await this.#listLayouts(organizationId);
        const layout = chooseLayout(layouts, row.project_id, message.layout);
        return {
          ...compileMessage({ ...message, overrides }, 'checked'),
          compiledLayout: layout?.compiled(),
          source: { message, overrides } as unknown as Json,
          layoutSource: layout?.body ?? defaultLayout,
        };
      },
      () => organizationId,
    );
  }

  /** By its name, or the default one; `isKnown` tells whether a layout of that name is there. */
  async findLayout(organizationId: number, projectId: number, name: string | undefined) {
    const layouts = await this.#listLayouts(organizationId);
    const chosen = chooseLayout(layouts, projectId, name);
    return {
      layout: chosen?.compiled(),
      source: chosen?.body,
      isKnown: name === undefined || chosen?.key === fold(name),
    };
  }

  async #listLayouts(organizationId: number): Promise<PlannedLayout[]> {
    const { db, tenantCache } = this.#deps;
    const layouts = await tenantCache.getOrRead(
      this.#layouts,
      String(organizationId),
      async () =>
        (await listAllLayouts(db, organizationId)).map(({ project_id, name_key, body }): PlannedLayout => {
          let compiled: CompiledLayout | undefined;
          return {
            projectId: project_id,
            key: name_key,
            body,
            compiled: () => (compiled ??= compileLayout(body, 'checked')),
          };
        }),
      () => organizationId,
    );
    return layouts ?? [];
  }

  #planChannel(organizationId: number, row: ChannelRow): PlannedChannel {
    const { providers: known } = this.#deps;
    const { secrets, unreadable } = this.#openSecrets(organizationId, row);
    const providers = row.providers.flatMap(({ use, ...settings }, i): PlannedProvider[] => {
      const provider = known[use as string];
      return provider ? [{ provider, settings: { ...settings, ...secrets[i] } }] : [];
    });
    const [first] = providers;
    return {
      id: row.id,
      organizationId,
      projectId: row.project_id,
      slug: row.slug,
      type: row.type,
      enabled: row.enabled,
      paused: row.paused,
      reach: first?.provider.reach?.(first.settings) ?? 'address',
      usable: providers.length > 0,
      onUnknown: row.on_unknown,
      ratePerSecond: row.rate_per_second,
      concurrency: row.concurrency,
      get providers() {
        if (unreadable) throw unreadable;
        return providers;
      },
    };
  }

  /** Secrets that cannot be read fail whoever sends by this channel, and not the other channels with it. */
  #openSecrets(organizationId: number, row: ChannelRow): { secrets: JsonObject[]; unreadable?: AppError } {
    try {
      return { secrets: openSecrets(this.#deps.cipher, organizationId, row) };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { secrets: [], unreadable: error };
    }
  }
}

const usualName = 'default';

/** The project's before the organization's; the default where none is named, or the named one is gone. */
function chooseLayout(layouts: PlannedLayout[], projectId: number, name = usualName): PlannedLayout | undefined {
  const find = (key: string) => {
    const named = layouts.filter(layout => layout.key === key);
    return named.find(({ projectId: own }) => own === projectId) ?? named.find(({ projectId: own }) => own === null);
  };
  return find(fold(name)) ?? find(usualName);
}

function planEvent({ category, notifications, ...row }: EventRow): EventPlan {
  const event = `${row.project.slug}/${row.application.slug}/${row.slug}`;
  return {
    ...row,
    topic: { category: category ?? generalCategory, event },
    notifications: notifications.map(planNotification),
  };
}

function planThrottle({ most, per, key, overflow }: Throttle): PlannedThrottle {
  return { most, perMs: parseDuration(per)!, keyOf: compileGroupKey(key), gathers: overflow === 'digest' };
}

function planDigest({ every, key, first }: Digest): PlannedDigest {
  return { endsAt: compileDigestEnd(every), keyOf: compileGroupKey(key), isFirstSent: first === 'send' };
}

function mostItemsOf({ digest, throttle }: NotificationRow): number | undefined {
  if (!digest && throttle?.overflow !== 'digest') return undefined;
  return digest?.most ?? digestLimits.usualMost;
}

function planSteps(
  steps: readonly Step[],
  { give_up_after, notify_resolved }: NotificationRow,
  whole: PlannedNotification,
): PlannedSteps {
  return {
    steps: steps.map(({ channels, recipients, unless }) => ({
      notification: {
        ...whole,
        channels,
        ...(recipients && { recipients, picks: undefined, hasOwnRecipients: true }),
      },
      unless,
      isLeftOut:
        unless === undefined || isUnlessWord(unless)
          ? undefined
          : compilePredicate(unless, expressionLimits.stepsForUser),
    })),
    runs: listRuns(steps),
    giveUpMs: giveUpMs(give_up_after),
    asksForAcknowledgement: asksForAcknowledgement(steps),
    notifyResolved: notify_resolved,
  };
}

function planNotification(row: NotificationRow): PlannedNotification {
  const whole = planWhole(row);
  return row.steps ? { ...whole, steps: planSteps(row.steps, row, whole) } : whole;
}

function planWhole(row: NotificationRow): PlannedNotification {
  return {
    id: row.id,
    name: row.name,
    active: row.active,
    environs: row.environs,
    channels: row.channels,
    matches: row.filter === null ? undefined : compilePredicate(row.filter),
    recipients: row.recipients,
    picks:
      row.recipients.users === undefined
        ? undefined
        : compilePredicate(row.recipients.users, expressionLimits.stepsForUser),
    extraContext: row.extra_context,
    priority: row.priority,
    throttle: row.throttle ? planThrottle(row.throttle) : undefined,
    digest: row.digest ? planDigest(row.digest) : undefined,
    mostItems: mostItemsOf(row),
    steps: undefined,
    version: row.version,
  };
}
