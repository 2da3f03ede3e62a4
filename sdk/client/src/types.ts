/** Input and response types of the API's paths, derived from the generated types. */
import type { paths } from './api.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/** Paths that support the method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, unknown> ? P : never;
}[keyof paths];
type Operation<M extends Method, P> = P extends keyof paths ? (paths[P] extends Record<M, infer O> ? O : never) : never;

type Parameters<M extends Method, P> = Operation<M, P> extends { parameters: infer A } ? A : never;
/** The organization is optional, because the client has a default. */
type PathParameters<M extends Method, P> =
  Parameters<M, P> extends { path: infer A } ? Omit<A, 'org'> & { org?: string } : { org?: string };
type Query<M extends Method, P> = Parameters<M, P> extends { query?: infer A } ? A : never;
/** JSON, or the text of a file. */
type Content<B> = B extends { content: infer C } ? C[keyof C] : never;
type BodyInput<O> = O extends { requestBody: infer B }
  ? { body: Content<B> }
  : O extends { requestBody?: infer B }
    ? { body?: Content<NonNullable<B>> }
    : { body?: undefined };

type IfNeeded<Name extends string, T> = Partial<T> extends T ? { [N in Name]?: T } : { [N in Name]: T };
export type Input<M extends Method, P> = IfNeeded<'path', PathParameters<M, P>> & { query?: Query<M, P> } & BodyInput<
    Operation<M, P>
  >;

type Contents<R> = R extends { content: infer C } ? C[keyof C] : undefined;
type Responses<M extends Method, P> = Operation<M, P> extends { responses: infer R } ? R : never;
/** Successful status codes; everything else is thrown. */
type Success = 200 | 201 | 202 | 204;
export type Answer<M extends Method, P> = Contents<Responses<M, P>[keyof Responses<M, P> & Success]>;

/** Paths that return a list, and the type of its items. */
export type ListPath = { [P in PathOf<'get'>]: Answer<'get', P> extends unknown[] ? P : never }[PathOf<'get'>];
export type Item<P> = Answer<'get', P> extends (infer I)[] ? I : never;
