/**
 * Ends requests that are still open when what allowed them ends: streams, exports, long lists, uploads and imports. A request
 * is admitted again whenever a change is announced of its organization, account or user, and it ends when its key, session
 * or token expires. Expiry is measured with a monotonic clock, which no change of the time of day affects.
 *
 * The database announces changes within milliseconds, and the open requests are checked twice a second, so a request ends
 * within two seconds. While no announcements arrive, because the database cannot be reached, requests stay open; they are all
 * checked when it is back.
 */
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import type { Scope } from '../../lib/caching/announcements.ts';
import { slices } from '../../lib/load/slices.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { TenantCache } from '../../services/configuration/paths/tenant-cache.ts';
import type { SomeResources } from '../resolve.ts';
import type { Admission, Admissions } from './auth.ts';
import type { Caller, Route } from './route.ts';

interface OpenRequest {
  route: Route;
  request: FastifyRequest;
  reply: FastifyReply;
  admission: Admission;
  /** What it depends on. */
  scopes: Scope[];
  /** The generation of announcements at which it was admitted. */
  readAt: number;
  /** When the credentials expire, by the monotonic clock. */
  endsAt: number;
  /** Whether the last check refused it. */
  isRefused?: boolean;
}

const checkEveryMs = 500;
/** Each may need a query or two if the cache was cleared. */
const checksAtOnce = 20;

export class OpenRequests {
  readonly #cache: TenantCache;
  readonly #readmit: Admissions['readmit'];
  readonly #log: FastifyBaseLogger;
  readonly #open = new Map<FastifyRequest, OpenRequest>();
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;

  constructor(app: FastifyInstance, cache: TenantCache, readmit: Admissions['readmit']) {
    this.#cache = cache;
    this.#readmit = readmit;
    this.#log = app.log;
    app.addHook('onResponse', async request => void this.#open.delete(request));
    app.addHook('onClose', async () => clearInterval(this.#timer));
  }

  /** `readAt` is the generation of announcements before the request was admitted. */
  add(route: Route, request: FastifyRequest, reply: FastifyReply, admission: Admission, readAt: number): void {
    const { caller, accountId } = admission;
    if (!caller) return;
    const { organization, user } = admission.resources as SomeResources;
    const scopes: Scope[] = ['moves'];
    if (organization) scopes.push(organization.id);
    if (accountId !== undefined) scopes.push(`account ${accountId}`);
    if (user) scopes.push(`user ${user.id}`);
    this.#open.set(request, { route, request, reply, admission, scopes, readAt, endsAt: endOf(caller) });
    // Stops when nothing is open: an idle process does not wake up.
    this.#timer ??= setInterval(() => this.#tick(), checkEveryMs).unref();
  }

  #tick(): void {
    const now = performance.now();
    const changed: OpenRequest[] = [];
    for (const one of this.#open.values()) {
      // A connection that breaks causes no `onResponse`.
      if (one.reply.raw.closed) this.#open.delete(one.request);
      else if (now >= one.endsAt + checkEveryMs) this.#end(one);
      else if (!one.scopes.every(scope => this.#cache.isCurrent(scope, one.readAt))) changed.push(one);
    }
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    if (changed.length === 0 || !this.#cache.isConnected) return;
    this.#checking ??= this.#check(changed).finally(() => {
      this.#checking = undefined;
    });
  }

  async #check(changed: OpenRequest[]): Promise<void> {
    const pause = slices();
    for (let i = 0; i < changed.length; i += checksAtOnce) {
      await Promise.all(changed.slice(i, i + checksAtOnce).map(one => this.#checkOne(one)));
      await pause();
    }
  }

  async #checkOne(one: OpenRequest): Promise<void> {
    const readAt = this.#cache.generation;
    try {
      const caller = await this.#readmit(one.route, one.request, one.admission);
      one.readAt = readAt;
      one.endsAt = endOf(caller);
      one.isRefused = false;
    } catch (error) {
      // The next check tries again: the database failed, or the organization is about to move.
      if (!(error instanceof AppError) || error.kind === 'unavailable') return;
      // Only at the second refusal, so that a request that revokes its own key is still answered.
      if (one.isRefused) this.#end(one);
      one.isRefused = true;
    }
  }

  #end({ request, reply, admission }: OpenRequest): void {
    this.#open.delete(request);
    admission.hasEnded = true;
    this.#log.info({ request_id: request.id }, 'ended an open request: its key, session or token is no longer valid');
    if (admission.end) admission.end();
    // A list or file that is cut off must not look complete.
    else reply.raw.destroy();
  }
}

function endOf({ expiresAt }: Caller): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : performance.now() + expiresAt - currentTime();
}
