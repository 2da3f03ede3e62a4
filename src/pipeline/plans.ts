/**
 * The plans of an organization: events with compiled filters, messages, and channels with their providers and decrypted secrets. They are
 * cached until a change of the organization is announced.
 */
import type { DecisionChannel } from '../core/decision/decide.ts';
import { contentOfVariant, type VariantName, type VariantTexts } from '../core/decision/guards/variants.ts';
import { Silences } from '../core/decision/silences.ts';
import { AppError } from '../core/errors.ts';
import { retryMsOf } from '../core/history/retries.ts';
import type { VisibleUsers } from '../core/identity/visible-users.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { lookUp } from '../core/lookup.ts';
import { bundleMessage } from '../core/message/bundle-message.ts';
import { defaultLayout } from '../core/render/layout-default.ts';
import { findMentionedSchedules, type OnCallVariable } from '../core/render/on-call.ts';
import {
  type CompiledLayout,
  type CompiledMessage,
  compileLayout,
  compileMessage,
  type MessageContent,
} from '../core/render/render.ts';
import { toResolvedMessage } from '../core/render/resolved.ts';
import { fold } from '../core/text/text.ts';
import { listSchedules } from '../db/audience/on-call/schedules.ts';
import { findPeople, type Person } from '../db/audience/users.ts';
import {
  type ChannelRow,
  findEventPlan,
  findMessage,
  hasSuppressions,
  listPlannedChannels,
} from '../db/configuration/plans.ts';
import { listRows } from '../db/configuration/rows.ts';
import type { Db } from '../db/connection/pool.ts';
import { listOpenSilences } from '../db/history/silences/silences.ts';
import type { AnnouncedCache, Entries } from '../lib/caching/announced-cache.ts';
import type { Cipher } from '../lib/secrets/cipher.ts';
import { currentTime } from '../lib/time/clock.ts';
import type { Provider, Providers } from '../providers/provider.ts';
import { openSecrets } from './channel-secrets.ts';
import { type EventPlan, planEvent } from './event-plan.ts';
import type { AcknowledgeUrlFor, LinksFor } from './message-links.ts';
import { describeOnCall, type PlannedSchedule, planSchedule } from './on-call.ts';
import type { Rendering } from './rendering/rendering.ts';

export interface PlannedProvider {
  provider: Provider;
  settings: JsonObject;
}

/** Whether the provider can send to this address, or leaves it to the next one. */
export function acceptsAddress({ provider, settings }: PlannedProvider, address: string): boolean {
  return provider.accepts?.(address, settings) ?? true;
}

export function isLimited({ ratePerSecond, concurrency }: PlannedChannel): boolean {
  return ratePerSecond !== null || concurrency !== null;
}

export interface PlannedChannel extends DecisionChannel {
  organizationId: number;
  projectId: number | null;
  paused: boolean;
  /** Whether the reputation guard holds bulk messages. */
  bulkPaused: boolean;
  onUnknown: 'resend' | 'hold';
  ratePerSecond: number | null;
  concurrency: number | null;
  /** How long a message is retried after a temporary failure. */
  retryMs: number;
  /** Of the addresses that services post feedback and interactions to. */
  feedbackToken: string;
  /** Throws `secret.unreadable`. */
  readonly providers: PlannedProvider[];
}

export interface PlannedMessage extends CompiledMessage {
  /** The layout of emails; undefined for the default one. */
  compiledLayout: CompiledLayout | undefined;
  /** The sources that the message and its layout were compiled from. */
  source: Json;
  layoutSource: string;
  /** Slugs of the schedules that the message or its layout names as `oncall.…`. */
  schedules: readonly string[];
}

interface PlannedLayout {
  projectId: number | null;
  key: string;
  body: string;
  /** Compiles the layout on first use, once for all messages. */
  compiled: () => CompiledLayout;
}

/** The content of `messages.content`: the message, and its overrides by channel. */
export interface StoredMessage {
  message: MessageContent;
  overrides: NonNullable<MessageContent['overrides']>;
  /** The texts of the second variant. */
  variant?: VariantTexts;
}

/** A subset of Deps, which itself contains the plans. */
interface PlanDeps {
  db: Db;
  cache: AnnouncedCache;
  cipher: Cipher;
  providers: Providers;
}

export class Plans {
  /** Renders the messages. */
  readonly rendering: Rendering;
  /** Creates the unsubscribe and preferences links of messages. */
  readonly linksFor: LinksFor;
  /** Creates the acknowledge link of messages; empty when the public address is not configured. */
  readonly acknowledgeUrlFor: AcknowledgeUrlFor;
  readonly #deps: PlanDeps;
  readonly #events: Entries<EventPlan> = new Map();
  readonly #channels: Entries<PlannedChannel[]> = new Map();
  readonly #messages: Entries<PlannedMessage> = new Map();
  readonly #layouts: Entries<PlannedLayout[]> = new Map();
  readonly #suppresses: Entries<boolean> = new Map();
  readonly #silences: Entries<Silences> = new Map();
  readonly #schedules: Entries<PlannedSchedule> = new Map();
  /** The names of users on call. */
  readonly #people: Entries<Person[]> = new Map();

  constructor(deps: PlanDeps & { rendering: Rendering; linksFor?: LinksFor; acknowledgeUrlFor?: AcknowledgeUrlFor }) {
    this.#deps = deps;
    this.rendering = deps.rendering;
    this.linksFor = deps.linksFor ?? (() => undefined);
    this.acknowledgeUrlFor = deps.acknowledgeUrlFor ?? (() => '');
  }

  /** Returns undefined when the event has been deleted. */
  async findEvent(organizationId: number, eventId: number): Promise<EventPlan | undefined> {
    const { db, cache } = this.#deps;
    return cache.getOrRead(
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
    const { db, cache } = this.#deps;
    const channels = await cache.getOrRead(
      this.#channels,
      String(organizationId),
      async () => (await listPlannedChannels(db, organizationId)).map(row => this.#planChannel(organizationId, row)),
      () => organizationId,
    );
    return channels ?? [];
  }

  /** Returns whether addresses of the organization must be looked up in its suppression list. */
  async suppresses(organizationId: number): Promise<boolean> {
    const { db, cache } = this.#deps;
    const suppresses = await cache.getOrRead(
      this.#suppresses,
      String(organizationId),
      () => hasSuppressions(db, organizationId),
      () => organizationId,
    );
    return suppresses ?? false;
  }

  /** Returns the silences of the organization, at once if they are cached. */
  findSilences(organizationId: number): Silences | Promise<Silences> {
    const { db, cache } = this.#deps;
    const silences = cache.getOrRead(
      this.#silences,
      String(organizationId),
      async () => new Silences(await listOpenSilences(db, organizationId)),
      () => organizationId,
    );
    return silences as Silences | Promise<Silences>;
  }

  /** Returns undefined when the schedule has been deleted. */
  async findSchedule(organizationId: number, projectId: number, slug: string): Promise<PlannedSchedule | undefined> {
    const { db, cache } = this.#deps;
    return cache.getOrRead(
      this.#schedules,
      `${organizationId}/${projectId}/${slug}`,
      async () => {
        // Those that are over no longer decide.
        const from = new Date(currentTime());
        const [row] = await listSchedules(db, organizationId, { project: { id: projectId }, slug, from });
        return row && planSchedule(row);
      },
      () => organizationId,
    );
  }

  /** Returns who is on call of some schedules, as templates see it; undefined if there are none of these slugs. */
  async describeOnCall(
    { organization, project }: { organization: { id: number }; project: { id: number } },
    slugs: readonly string[],
    instant: number,
    visible: VisibleUsers = 'all',
  ): Promise<Record<string, OnCallVariable> | undefined> {
    const described: Record<string, OnCallVariable> = {};
    for (const slug of slugs) {
      const schedule = await this.findSchedule(organization.id, project.id, slug);
      if (!schedule) continue;
      const usernames = [...schedule.usersAt(instant, 0), ...schedule.turnAt(instant, 1).users];
      const people = visible === 'none' ? [] : await this.#findPeople(organization.id, [...new Set(usernames)]);
      described[slug] = describeOnCall(schedule, instant, people);
    }
    return Object.keys(described).length > 0 ? described : undefined;
  }

  async #findPeople(organizationId: number, usernames: string[]): Promise<Person[]> {
    const { db, cache } = this.#deps;
    const people = await cache.getOrRead(
      this.#people,
      `${organizationId}/${usernames.join('/')}`,
      () => findPeople(db, organizationId, usernames),
      () => organizationId,
    );
    return people ?? [];
  }

  /** Lists the channels that events of a project may use: the project's own first, then the organization's. */
  async listUsable(organizationId: number, projectId: number): Promise<PlannedChannel[]> {
    const all = await this.listChannels(organizationId);
    return [
      ...all.filter(({ projectId: own }) => own === projectId),
      ...all.filter(({ projectId: own }) => own === null),
    ];
  }

  /** Finds a version of a message, which never changes; its layout is the current one. */
  async findMessage(
    organizationId: number,
    notificationId: number,
    version: number,
    /** `isResolution`: returns the message that reports the occurrence as resolved. */
    { isResolution = false, variant = null }: { isResolution?: boolean; variant?: VariantName | null } = {},
  ): Promise<PlannedMessage | undefined> {
    const { db, cache } = this.#deps;
    return cache.getOrRead(
      this.#messages,
      `${organizationId}/${notificationId}/${version}${isResolution ? '/resolved' : ''}${variant === 'b' ? '/b' : ''}`,
      async () => {
        const row = await findMessage(db, organizationId, notificationId, version);
        if (row === undefined) return undefined;
        const stored = contentOfVariant(row.content as unknown as StoredMessage, variant);
        const { overrides = {}, ...message } = isResolution
          ? toResolvedMessage({ ...stored.message, overrides: stored.overrides })
          : { ...stored.message, overrides: stored.overrides };
        const layouts = await this.#listLayouts(organizationId);
        return planMessage({ ...message, overrides }, chooseLayout(layouts, row.project_id, message.layout));
      },
      () => organizationId,
    );
  }

  /** Returns the message of bundles of alerts, in the organization's default layout. */
  async bundleMessage(organizationId: number): Promise<PlannedMessage> {
    const message = await this.#deps.cache.getOrRead(
      this.#messages,
      `${organizationId}/bundle`,
      async () => {
        return planMessage(bundleMessage, chooseLayout(await this.#listLayouts(organizationId), null));
      },
      () => organizationId,
    );
    return message!;
  }

  /** Finds a layout by name, or the default one; `isKnown` is whether a layout with that name exists. */
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
    const { db, cache } = this.#deps;
    const layouts = await cache.getOrRead(
      this.#layouts,
      String(organizationId),
      async () =>
        (await listRows(db, organizationId, 'layout')).map(({ project_id, name_key, body }): PlannedLayout => {
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
    const { providers: available } = this.#deps;
    const { secrets, unreadable } = this.#openSecrets(organizationId, row);
    const providers = row.providers.flatMap(({ use, ...settings }, i): PlannedProvider[] => {
      const provider = lookUp(available, String(use));
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
      bulkPaused: row.bulk_paused,
      reach: first?.provider.reach?.(first.settings) ?? 'address',
      usable: providers.length > 0,
      accepts: providers.some(({ provider }) => provider.accepts)
        ? address => providers.some(one => acceptsAddress(one, address))
        : undefined,
      onUnknown: row.on_unknown,
      ratePerSecond: row.rate_per_second,
      concurrency: row.concurrency,
      retryMs: retryMsOf(row),
      feedbackToken: row.feedback_token,
      get providers() {
        if (unreadable) throw unreadable;
        return providers;
      },
    };
  }

  /** Unreadable secrets fail only the deliveries via this channel, not those via other channels. */
  #openSecrets(organizationId: number, row: ChannelRow): { secrets: JsonObject[]; unreadable?: AppError } {
    try {
      return { secrets: openSecrets(this.#deps.cipher, organizationId, row) };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { secrets: [], unreadable: error };
    }
  }
}

function planMessage(content: MessageContent, layout: PlannedLayout | undefined): PlannedMessage {
  const { overrides = {}, ...message } = content;
  const source = { message, overrides } as unknown as Json;
  const layoutSource = layout?.body ?? defaultLayout;
  return {
    ...compileMessage(content, 'checked'),
    compiledLayout: layout?.compiled(),
    source,
    layoutSource,
    schedules: findMentionedSchedules(JSON.stringify(source) + layoutSource),
  };
}

const defaultName = 'default';

/** Prefers the project's layout over the organization's; falls back to the default if none is named or it was deleted. */
function chooseLayout(
  layouts: PlannedLayout[],
  projectId: number | null,
  name = defaultName,
): PlannedLayout | undefined {
  const find = (key: string) => {
    const named = layouts.filter(layout => layout.key === key);
    return named.find(({ projectId: own }) => own === projectId) ?? named.find(({ projectId: own }) => own === null);
  };
  return find(fold(name)) ?? find(defaultName);
}
