/** Caches compiled context schemas, one per event and version. */
import { type CheckContext, compileContextSchema } from '../../../core/context-schema/check.ts';
import { loadPatterns } from '../../../core/context-schema/patterns.ts';
import type { JsonObject } from '../../../core/json.ts';
import { findContextSchema } from '../../../db/configuration/events.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';
import type { Db } from '../../../db/connection/pool.ts';

/** A compiled schema takes about ten times the memory of its text. */
const maxCached = 1_000;

export class ContextSchemas {
  readonly #db: Db;
  readonly #checks = new Map<string, CheckContext | Promise<CheckContext>>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Throws `context.invalid`. Returns a promise only if the schema is not cached. */
  check({ organization, event }: Pick<Required<ResolvedPath>, 'organization' | 'event'>, context: JsonObject) {
    if (event.schema_version === null) return;
    const cached = this.#get(organization.id, event.id, event.schema_version);
    return cached instanceof Promise ? cached.then(check => check(context)) : cached(context);
  }

  #get(organizationId: number, eventId: number, version: string): CheckContext | Promise<CheckContext> {
    const key = `${eventId} ${version}`;
    const cached = this.#checks.get(key);
    if (cached) return cached;
    const reading = this.#read(organizationId, eventId).then(
      check => {
        this.#checks.set(key, check);
        return check;
      },
      error => {
        this.#checks.delete(key);
        throw error;
      },
    );
    if (this.#checks.size >= maxCached) this.#checks.delete(this.#checks.keys().next().value!);
    this.#checks.set(key, reading);
    return reading;
  }

  async #read(organizationId: number, eventId: number): Promise<CheckContext> {
    await loadPatterns();
    const schema = await findContextSchema(this.#db, organizationId, eventId);
    return schema ? compileContextSchema(schema) : () => {};
  }
}
