/**
 * What a message is written with besides the user and the trigger: its words, its layout, extra context, and the names of
 * what is around it. It is stored by its hash before the first message goes out that was written with it, and the delivery
 * remembers the hash: so the message can be written again exactly, whatever has been changed or deleted since, and
 * however old what this process remembered was.
 */
import { hash } from 'node:crypto';
import { toUuid } from '../core/ids.ts';
import { canonicalJson, type Json, type JsonObject } from '../core/json.ts';
import type { CategoryKind } from '../core/preferences.ts';
import type { Db } from '../db/pool.ts';
import { keepRenderSnapshots, type SnapshotPart } from '../db/render-snapshots.ts';
import type { EventPlan, PlannedChannel, PlannedMessage } from './plans.ts';

interface Named {
  slug: string;
  name: string;
}

export interface RenderContext {
  extra_context: JsonObject;
  event: Named;
  application: Named;
  /** Whose registrations the message may speak of; absent in what was written before it could. */
  application_id?: number;
  project: Named;
  organization: Named;
  channel: { slug: string; type: string };
  /** What the links in the message are about; absent in what was written before there were any. */
  category?: { slug: string; kind: CategoryKind };
  /** How many items a digest of it has; absent: it does not gather, and its template has no `items`. */
  most_items?: number;
}

const named = ({ slug, name }: Named): Named => ({ slug, name });

export function renderContextOf(plan: EventPlan, channel: PlannedChannel, notificationId: number): RenderContext {
  const notification = plan.notifications.find(one => one.id === notificationId);
  return renderContextFor(plan, channel, notification?.extraContext ?? {}, notification?.mostItems);
}

/** The same for words that are no notification's yet. */
export function renderContextFor(
  plan: EventPlan,
  channel: { slug: string; type: string },
  extraContext: JsonObject,
  mostItems?: number,
): RenderContext {
  return {
    extra_context: extraContext,
    event: named(plan),
    application: named(plan.application),
    application_id: plan.application.id,
    project: named(plan.project),
    organization: named(plan.organization),
    channel: { slug: channel.slug, type: channel.type },
    category: { slug: plan.topic.category.slug, kind: plan.topic.category.kind },
    ...(mostItems !== undefined && { most_items: mostItems }),
  };
}

const dayMs = 86_400_000;
const mostKnown = 100_000;

export class RenderSnapshots {
  readonly #db: Db;
  /** What was made of which objects: these stay the same until a change is announced. */
  readonly #made = new WeakMap<PlannedMessage, WeakMap<EventPlan, WeakMap<PlannedChannel, SnapshotPart[]>>>();
  /** By organization and id: the day on which it was last noted that it is used, or that being under way. */
  readonly #noted = new Map<string, number | Promise<void>>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Resolves to its id when it is stored. Asks the database once a day for each. */
  async keep(
    message: PlannedMessage,
    plan: EventPlan,
    channel: PlannedChannel,
    renderContext: RenderContext,
  ): Promise<string> {
    const parts = this.#recall(message, plan, channel, renderContext);
    const { id } = parts[0]!;
    const name = `${plan.organization.id}/${id}`;
    const today = Math.floor(Date.now() / dayMs);
    const noted = this.#noted.get(name);
    if (noted === today) return id;
    await (typeof noted === 'object' ? noted : this.#note(name, plan.organization.id, parts, today));
    return id;
  }

  #note(name: string, organizationId: number, parts: SnapshotPart[], today: number): Promise<void> {
    if (this.#noted.size >= mostKnown) this.#noted.clear();
    const noting = keepRenderSnapshots(this.#db, organizationId, parts).then(
      () => void this.#noted.set(name, today),
      error => {
        this.#noted.delete(name);
        throw error;
      },
    );
    this.#noted.set(name, noting);
    return noting;
  }

  #recall(
    message: PlannedMessage,
    plan: EventPlan,
    channel: PlannedChannel,
    renderContext: RenderContext,
  ): SnapshotPart[] {
    const ofMessage = getOr(this.#made, message, () => new WeakMap());
    const ofPlan = getOr(ofMessage, plan, () => new WeakMap());
    return getOr(ofPlan, channel, () => {
      const words = toPart(message.source);
      const layout = channel.type === 'email' ? [toPart(message.layoutSource)] : [];
      const whole = { ...renderContext, message: words.id, layout: layout[0]?.id ?? null };
      return [toPart(whole as unknown as Json), words, ...layout];
    });
  }
}

function toPart(content: Json): SnapshotPart {
  return { id: toUuid(hash('sha256', canonicalJson(content)).slice(0, 32)), content };
}

function getOr<Key extends WeakKey, Value>(known: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}
