/**
 * What the pages of channels, people, lists, keys and the team need and openapi.json does not have yet. Each goes as
 * soon as the route is there.
 */
import type { Problem, User } from './api-types.ts';

type Operation<Body, Parameters = object, Request = never, Status extends number = 200> = {
  parameters: Parameters;
  responses: { [status in Status]: { content: { 'application/json': Body } } } & {
    default: { content: { 'application/problem+json': Problem } };
  };
} & ([Request] extends [never] ? unknown : { requestBody: { content: { 'application/json': Request } } });

type Paging = { limit?: number; cursor?: string };
type Search = { query?: Paging & { search?: string } };
type In<Names extends string = never> = { path: { org: string } & { [name in Names]: string } };
type At<Names extends string, Ids extends string = never> = {
  path: { org: string } & { [name in Names]: string } & { [id in Ids]: number };
};

/** What goes with a deletion, by noun and how many. */
export interface Deleted {
  deleted: Record<string, number>;
  dry_run?: boolean;
}
type DeleteQuery = { query?: { cascade?: boolean; dry_run?: boolean } };

export interface TestResult {
  ok: boolean;
  provider: string | null;
  reason: string | null;
  detail: string | null;
  message_id: string | null;
  ms: number;
}
type TestRequest = { to?: string; subject?: string; body?: string; provider?: number };

export interface Profile extends User {
  locale: string | null;
  custom_fields: Record<string, unknown>;
  created_at: string;
  updated_at: string;
}

export interface UserAddress {
  id: number;
  name: string;
  value: string;
  disabled_at: string | null;
  disabled_reason: string | null;
}

export interface Membership {
  id: number;
  project: string;
  list: { id: number; name: string };
  address: string;
  active: boolean;
}

export interface ListMember {
  id: number;
  user: string;
  first_name: string;
  last_name: string;
  address: string;
  active: boolean;
}

export interface ImportResult {
  rows: number;
  added: number;
  existing: number;
  created_users: number;
  updated_users: number;
  errors: { row: number; field: string | null; message: string }[];
}

export interface OrganizationSettings {
  slug: string;
  name: string;
  retention_days: number;
  created_at: string;
}

export interface Account {
  id: number;
  email: string;
  name: string;
  role: string;
  created_at: string;
  last_seen_at: string | null;
}

export interface PendingInvite {
  id: number;
  email: string;
  role: string;
  expires_at: string;
  link?: string;
}

type Channel<Names extends string> = {
  delete: Operation<Deleted, In<Names> & DeleteQuery>;
};

export interface Later {
  '/api/o/{org}/': {
    patch: Operation<OrganizationSettings, In, { name?: string; retention_days?: number }>;
    delete: Operation<Deleted, In & DeleteQuery>;
  };
  '/api/o/{org}/settings/': { get: Operation<OrganizationSettings, In> };
  '/api/o/{org}/c/{channel}/': Channel<'channel'>;
  '/api/o/{org}/p/{prj}/c/{channel}/': Channel<'prj' | 'channel'>;
  '/api/o/{org}/c/{channel}/test/': { post: Operation<TestResult, In<'channel'>, TestRequest> };
  '/api/o/{org}/p/{prj}/c/{channel}/test/': { post: Operation<TestResult, In<'prj' | 'channel'>, TestRequest> };
  '/api/o/{org}/u/': { get: Operation<User[], In & Search> };
  '/api/o/{org}/u/{username}/': { delete: Operation<Deleted, In<'username'> & DeleteQuery> };
  '/api/o/{org}/u/{username}/profile/': {
    get: Operation<Profile, In<'username'>>;
    patch: Operation<
      Profile,
      In<'username'>,
      Partial<Pick<Profile, 'first_name' | 'last_name' | 'locked' | 'locale' | 'custom_fields'>>
    >;
  };
  '/api/o/{org}/u/{username}/addresses/': { get: Operation<UserAddress[], In<'username'> & { query?: Paging }> };
  '/api/o/{org}/u/{username}/addresses/{address}/': {
    patch: Operation<UserAddress, At<'username', 'address'>, { enabled: boolean }>;
    delete: Operation<Deleted, At<'username', 'address'> & DeleteQuery>;
  };
  '/api/o/{org}/u/{username}/memberships/': { get: Operation<Membership[], In<'username'> & { query?: Paging }> };
  '/api/o/{org}/p/{prj}/d/{pk}/': {
    patch: Operation<{ id: number; name: string }, At<'prj', 'pk'>, { name: string }>;
    delete: Operation<Deleted, At<'prj', 'pk'> & DeleteQuery>;
  };
  '/api/o/{org}/p/{prj}/d/{pk}/m/{member}/': {
    patch: Operation<ListMember, At<'prj', 'pk' | 'member'>, { active: boolean }>;
    delete: Operation<Deleted, At<'prj', 'pk' | 'member'>>;
  };
  '/api/o/{org}/p/{prj}/d/{pk}/members/': { get: Operation<ListMember[], At<'prj', 'pk'> & Search> };
  '/api/o/{org}/p/{prj}/d/{pk}/count/': { get: Operation<{ members: number; active: number }, At<'prj', 'pk'>> };
  '/api/o/{org}/p/{prj}/d/{pk}/import/': {
    post: {
      parameters: At<'prj', 'pk'> & { query?: { on_error?: 'refuse' | 'skip'; dry_run?: boolean } };
      requestBody: { content: { 'text/csv': string } };
      responses: {
        200: { content: { 'application/json': ImportResult } };
        default: { content: { 'application/problem+json': Problem } };
      };
    };
  };
  '/api/o/{org}/k/{key}/': {
    patch: Operation<
      unknown,
      In<'key'>,
      { name?: string; expires_at?: string | null; requests_per_second?: number | null }
    >;
    delete: Operation<unknown, In<'key'>>;
  };
  '/api/o/{org}/k/{key}/rotate/': {
    post: Operation<
      { id: string; name: string; key: string; previous: { id: string; expires_at: string | null } },
      In<'key'>,
      { overlap?: string },
      201
    >;
  };
  '/api/o/{org}/account/': { get: Operation<Account[], In & { query?: Paging }> };
  '/api/o/{org}/account/{account}/': {
    patch: Operation<Account, At<never, 'account'>, { role: string }>;
    delete: Operation<unknown, At<never, 'account'>>;
  };
  '/api/o/{org}/invite/': {
    get: Operation<PendingInvite[], In & { query?: Paging }>;
    post: Operation<PendingInvite & { link: string }, In, { email: string; role: string }, 201>;
  };
  '/api/o/{org}/invite/{invite}/': { delete: Operation<unknown, At<never, 'invite'>> };
}
