/**
 * The plans of an organization: events with compiled filters, messages, and channels with their providers and decrypted secrets. They are
 * cached until a change of the organization is announced.
 */
import type { DecisionChannel } from '../core/decision/decide.ts';
import { AppError } from '../core/errors.ts';
import { retryMsOf } from '../core/history/retries.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { lookUp } from '../core/lookup.ts';
import { defaultLayout } from '../core/render/layout-default.ts';
import {
  type CompiledLayout,
  type CompiledMessage,
  compileLayout,
  compileMessage,
  type MessageContent,
} from '../core/render/render.ts';
import { toResolvedMessage } from '../core/render/resolved.ts';
import { fold } from '../core/text/text.ts';
import {
  type ChannelRow,
  findEventPlan,
  findMessage,
  hasSuppressions,
  listPlannedChannels,
} from '../db/configuration/plans.ts';
import { listRows } from '../db/configuration/rows.ts';
import type { Db } from '../db/connection/pool.ts';
import type { AnnouncedCache, Entries } from '../lib/caching/announced-cache.ts';
import type { Cipher } from '../lib/secrets/cipher.ts';
import type { Provider, Providers } from '../providers/provider.ts';
import { openSecrets } from './channel-secrets.ts';
import { type EventPlan, planEvent } from './event-plan.ts';
import type { AcknowledgeUrlFor, LinksFor } from './message-links.ts';
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
    /** Whether to return the message that reports the occurrence as resolved. */
    isResolution = false,
  ): Promise<PlannedMessage | undefined> {
    const { db, cache } = this.#deps;
    return cache.getOrRead(
      this.#messages,
      `${organizationId}/${notificationId}/${version}${isResolution ? '/resolved' : ''}`,
      async () => {
        const row = await findMessage(db, organizationId, notificationId, version);
        if (row === undefined) return undefined;
        const stored = row.content as unknown as StoredMessage;
        const { overrides = {}, ...message } = isResolution
          ? toResolvedMessage({ ...stored.message, overrides: stored.overrides })
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

const defaultName = 'default';

/** Prefers the project's layout over the organization's; falls back to the default if none is named or it was deleted. */
function chooseLayout(layouts: PlannedLayout[], projectId: number, name = defaultName): PlannedLayout | undefined {
  const find = (key: string) => {
    const named = layouts.filter(layout => layout.key === key);
    return named.find(({ projectId: own }) => own === projectId) ?? named.find(({ projectId: own }) => own === null);
  };
  return find(fold(name)) ?? find(defaultName);
}
