/** The schemas of contexts, ready to be asked: put together once for each event and version of it. */
import { type CheckContext, compileContextSchema } from '../core/context-check.ts';
import { loadPatterns } from '../core/context-patterns.ts';
import type { JsonObject } from '../core/json.ts';
import { findContextSchema } from '../db/events.ts';
import type { Place } from '../db/organizations.ts';
import type { Db } from '../db/pool.ts';

/** One takes about ten times the memory of its text. */
const mostKept = 1_000;

export class ContextSchemas {
  readonly #db: Db;
  readonly #checks = new Map<string, CheckContext | Promise<CheckContext>>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Throws `context.invalid`. An event without a schema costs nothing, one whose schema is known no promise. */
  check({ organization, event }: Pick<Required<Place>, 'organization' | 'event'>, context: JsonObject) {
    if (event.schema_version === null) return;
    const known = this.#get(organization.id, event.id, event.schema_version);
    return known instanceof Promise ? known.then(check => check(context)) : known(context);
  }

  #get(organizationId: number, eventId: number, version: string): CheckContext | Promise<CheckContext> {
    const key = `${eventId} ${version}`;
    const known = this.#checks.get(key);
    if (known) return known;
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
    if (this.#checks.size >= mostKept) this.#checks.delete(this.#checks.keys().next().value!);
    this.#checks.set(key, reading);
    return reading;
  }

  async #read(organizationId: number, eventId: number): Promise<CheckContext> {
    await loadPatterns();
    const schema = await findContextSchema(this.#db, organizationId, eventId);
    return schema ? compileContextSchema(schema) : () => {};
  }
}
