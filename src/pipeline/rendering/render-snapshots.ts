/**
 * Render snapshots: what a message is rendered from besides the user and the trigger, that is the template, the layout,
 * extra context and the names of the event and its parents. A snapshot is stored by its hash before the first message that
 * uses it is sent, and the delivery refers to the hash. So the message can be rendered again exactly, whatever has been
 * changed or deleted since, even if it was rendered from a stale cache.
 */

import { hash } from 'node:crypto';
import type { CategoryKind } from '../../core/configuration/nouns/category.ts';
import { bundleLimits } from '../../core/decision/bundle.ts';
import { toUuid } from '../../core/ids.ts';
import { canonicalJson, type Json, type JsonObject } from '../../core/json.ts';
import type { OnCallVariable } from '../../core/render/on-call.ts';
import type { Db } from '../../db/connection/pool.ts';
import { keepRenderSnapshots, type SnapshotPart } from '../../db/ledger/deliver/render-snapshots.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { EventPlan } from '../event-plan.ts';
import type { PlannedChannel, PlannedMessage } from '../plans.ts';

interface NamedResource {
  slug: string;
  name: string;
}

export interface RenderContext {
  extra_context: JsonObject;
  event: NamedResource;
  application: NamedResource;
  /** The application whose memberships the message may use; absent in snapshots from before there were any. */
  application_id?: number;
  project: NamedResource;
  organization: NamedResource;
  channel: { slug: string; type: string };
  /** The category of the links in the message; absent in snapshots from before there were any. */
  category?: { slug: string; kind: CategoryKind };
  /** The maximum number of items in a digest; absent without digests, whose templates have no `items`. */
  max_items?: number;
  /** Who was on call, by the slugs of the schedules that the message names; absent if it names none. */
  oncall?: Record<string, OnCallVariable>;
}

const nameOf = ({ slug, name }: NamedResource): NamedResource => ({ slug, name });

export function renderContextOf(plan: EventPlan, channel: PlannedChannel, notificationId: number): RenderContext {
  const notification = plan.notifications.find(one => one.id === notificationId);
  return renderContextFor(plan, channel, notification?.extraContext ?? {}, notification?.maxItems);
}

/** Returns the render context of a bundle of alerts, which may be of several notifications. */
export function bundleContextOf(plan: EventPlan, channel: PlannedChannel): RenderContext {
  return renderContextFor(plan, channel, {}, bundleLimits.items);
}

/** Returns the render context of a draft, which does not belong to a notification yet. */
export function renderContextFor(
  plan: EventPlan,
  channel: { slug: string; type: string },
  extraContext: JsonObject,
  maxItems?: number,
): RenderContext {
  return {
    extra_context: extraContext,
    event: nameOf(plan),
    application: nameOf(plan.application),
    application_id: plan.application.id,
    project: nameOf(plan.project),
    organization: nameOf(plan.organization),
    channel: { slug: channel.slug, type: channel.type },
    category: { slug: plan.topic.category.slug, kind: plan.topic.category.kind },
    ...(maxItems !== undefined && { max_items: maxItems }),
  };
}

const dayMs = 86_400_000;
const maxCached = 100_000;

export class RenderSnapshots {
  readonly #db: Db;
  /** Parts by the objects they were built from, which are replaced when a change is announced. */
  readonly #parts = new WeakMap<PlannedMessage, WeakMap<EventPlan, WeakMap<PlannedChannel, SnapshotPart[]>>>();
  /** By organization and id: the day on which the snapshot was last stored, or the write in progress. */
  readonly #stored = new Map<string, number | Promise<void>>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Resolves to the id once the snapshot is stored. Writes each one once a day, which records that it is in use. */
  async store(
    message: PlannedMessage,
    plan: EventPlan,
    channel: PlannedChannel,
    renderContext: RenderContext,
  ): Promise<string> {
    const parts = this.#partsOf(message, plan, channel, renderContext);
    const { id } = parts[0]!;
    const name = `${plan.organization.id}/${id}`;
    const today = Math.floor(currentTime() / dayMs);
    const stored = this.#stored.get(name);
    if (stored === today) return id;
    await (typeof stored === 'object' ? stored : this.#store(name, plan.organization.id, parts, today));
    return id;
  }

  #store(name: string, organizationId: number, parts: SnapshotPart[], today: number): Promise<void> {
    if (this.#stored.size >= maxCached) this.#stored.clear();
    const storing = keepRenderSnapshots(this.#db, organizationId, parts).then(
      () => void this.#stored.set(name, today),
      error => {
        this.#stored.delete(name);
        throw error;
      },
    );
    this.#stored.set(name, storing);
    return storing;
  }

  #partsOf(
    message: PlannedMessage,
    plan: EventPlan,
    channel: PlannedChannel,
    renderContext: RenderContext,
  ): SnapshotPart[] {
    const ofMessage = getOrCreate(this.#parts, message, () => new WeakMap());
    const ofPlan = getOrCreate(ofMessage, plan, () => new WeakMap());
    const create = () => {
      const template = toPart(message.source);
      const layout = channel.type === 'email' ? [toPart(message.layoutSource)] : [];
      const snapshot = { ...renderContext, message: template.id, layout: layout[0]?.id ?? null };
      return [toPart(snapshot as unknown as Json), template, ...layout];
    };
    // Who is on call changes although none of these do.
    return renderContext.oncall ? create() : getOrCreate(ofPlan, channel, create);
  }
}

function toPart(content: Json): SnapshotPart {
  return { id: toUuid(hash('sha256', canonicalJson(content)).slice(0, 32)), content };
}

function getOrCreate<Key extends WeakKey, Value>(map: WeakMap<Key, Value>, key: Key, create: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const created = create();
  map.set(key, created);
  return created;
}
