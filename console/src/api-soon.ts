/**
 * Operations that the console needs and openapi.json does not have yet. Each goes as soon as the route is there.
 */
import type { Delivery, Problem } from './api-types.ts';

type Answer<Body> = { content: { 'application/json': Body } };
type Refusal = { content: { 'application/problem+json': Problem } };
type Operation<Body, Parameters = object, Request = never> = {
  parameters: Parameters;
  responses: { 200: Answer<Body>; default: Refusal };
} & ([Request] extends [never] ? unknown : { requestBody: { content: { 'application/json': Request } } });

export interface Session {
  account: { id: number; email: string; name: string; admin: boolean };
  organizations: { slug: string; name: string; role: string; permissions: string[] }[];
  csrf_token: string;
}

export interface SessionOptions {
  password: boolean;
  oidc: { name: string } | null;
  version: string;
}

export interface Invite {
  organization: { slug: string; name: string };
  email: string;
  role: string;
  expires_at: string;
}

export type Ended = Record<'sent' | 'failed' | 'suppressed' | 'cancelled' | 'expired' | 'unknown', number>;

export interface Statistics {
  hours: { hour: string; triggers: number; by_status: Ended }[];
  channels: { channel: string; project: string | null; type: string; by_status: Ended }[];
  events: { event: string; triggers: number; by_status: Ended }[];
  latency: { p50_ms: number | null; p95_ms: number | null; p99_ms: number | null };
  queue: { pending: number; capped: boolean; oldest_seconds: number | null };
  attention: {
    failed: number;
    unknown: number;
    disabled_addresses: number;
    paused: { kind: 'channel' | 'application' | 'event'; path: string; since: string }[];
  };
}

export interface PastDelivery extends Delivery {
  occurrence: string;
  event: string | null;
}

export interface Why {
  user: { username: string; email: string; first_name: string; last_name: string; locked: boolean } | null;
  final: boolean;
  deliveries: Delivery[];
  answers: {
    notification: string | null;
    channel: string | null;
    outcome: string;
    reason: string | null;
    explanation: string;
  }[];
}

type InOrganization = { org: string };
type OfOccurrence = InOrganization & { identifier: string };
type Paging = { limit?: number; cursor?: string };

export interface Soon {
  '/api/session/options/': { get: Operation<SessionOptions> };
  '/api/session/': {
    get: Operation<Session>;
    post: Operation<Session, object, { email: string; password: string }>;
    patch: Operation<Session, object, { name: string }>;
    delete: Operation<unknown>;
  };
  '/api/session/password/': { post: Operation<unknown, object, { current: string; password: string }> };
  '/api/invite/{token}/': {
    get: Operation<Invite, { path: { token: string } }>;
    post: Operation<Session, { path: { token: string } }, { name?: string; password?: string }>;
  };
  '/api/o/{org}/stats/': { get: Operation<Statistics, { path: InOrganization; query?: { hours?: number } }> };
  '/api/o/{org}/failures/': { get: Operation<PastDelivery[], { path: InOrganization; query?: Paging }> };
  '/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/retry/': {
    post: Operation<Delivery, { path: OfOccurrence & { delivery: number } }>;
  };
  '/api/o/{org}/occurrence/{identifier}/why/': {
    get: Operation<Why, { path: OfOccurrence; query: { user: string } }>;
  };
}
