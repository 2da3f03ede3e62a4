/**
 * Operations that the console needs and openapi.json does not have yet. Each goes as soon as the route is there.
 */
import type { Problem } from './api-types.ts';

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
}
