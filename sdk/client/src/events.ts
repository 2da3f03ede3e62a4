/** Types of events, if `belfry types` has generated them; otherwise any event with any context is allowed. */

/** Maps the path of an event (project/application/event) to its context. The file from `belfry types` extends it. */
// biome-ignore lint/suspicious/noEmptyInterface: the generated file extends it
export interface Events {}

type GeneratedPath = keyof Events & string;

/** A path can be prefixed with the organization. */
export type EventPath = [GeneratedPath] extends [never] ? string : GeneratedPath | `${string}/${GeneratedPath}`;

export type ContextOf<Path extends string> = [GeneratedPath] extends [never]
  ? object
  : Path extends GeneratedPath
    ? Events[Path]
    : Path extends `${string}/${infer Rest}`
      ? Rest extends GeneratedPath
        ? Events[Rest]
        : object
      : object;
