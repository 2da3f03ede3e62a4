/** Keeps track of which scopes have changed, as announced by the database, so that a reader knows whether a value is current. */

/** The scope of an announcement: the id of an organization, an account, a user, or the organizations that move between cells. */
export type Scope = number | `account ${number}` | `user ${number}` | 'moves';

/** With more changed scopes, everything counts as changed instead, so that announcements cannot fill the memory. */
const maxScopes = 100_000;
const scopePattern = /^(?:moves|(?:account |user )?[1-9]\d{0,15})$/;

export class Announcements {
  readonly #changedAt = new Map<Scope, number>();
  #generation = 0;
  #allChangedAt = 0;
  #isConnectedNow = false;

  markConnected(): void {
    this.#allChangedAt = ++this.#generation;
    this.#isConnectedNow = true;
  }

  get isConnected(): boolean {
    return this.#isConnectedNow;
  }

  markDisconnected(): void {
    this.#isConnectedNow = false;
  }

  /** Increases with every announcement. A reader notes it before it reads, and passes it to `isCurrent` later. */
  get generation(): number {
    return this.#generation;
  }

  /** Returns whether nothing in the scope has changed since `readAt`. While no listener is connected, that is unknown. */
  isCurrent(scope: Scope, readAt: number): boolean {
    return this.#isConnectedNow && readAt >= this.#allChangedAt && readAt >= (this.#changedAt.get(scope) ?? 0);
  }

  invalidate(scope: Scope): void {
    if (this.#changedAt.size >= maxScopes) {
      this.#changedAt.clear();
      this.#allChangedAt = ++this.#generation;
    }
    this.#changedAt.set(scope, ++this.#generation);
  }

  /** Handles an announcement. Any database role can send one, so a payload that is not a scope is ignored. */
  handleAnnouncement(payload: string): void {
    if (!scopePattern.test(payload)) return;
    this.invalidate(/^\d/.test(payload) ? Number(payload) : (payload as Scope));
  }
}
