/**
 * Operations that the console needs and openapi.json does not have yet. Each goes as soon as the route is there.
 */
import type { Delivery, Problem } from './api-types.ts';

type Answer<Body> = { content: { 'application/json': Body } };
type Refusal = { content: { 'application/problem+json': Problem } };
type Operation<Body, Parameters> = { parameters: Parameters; responses: { 200: Answer<Body>; default: Refusal } };

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
  '/api/o/{org}/stats/': { get: Operation<Statistics, { path: InOrganization; query?: { hours?: number } }> };
  '/api/o/{org}/failures/': { get: Operation<PastDelivery[], { path: InOrganization; query?: Paging }> };
  '/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/retry/': {
    post: Operation<Delivery, { path: OfOccurrence & { delivery: number } }>;
  };
  '/api/o/{org}/occurrence/{identifier}/why/': {
    get: Operation<Why, { path: OfOccurrence; query: { user: string } }>;
  };
}
