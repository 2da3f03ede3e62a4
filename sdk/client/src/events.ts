/** The events that there are, where `belfry types` has written them down; else any event with any context. */

/** Path of an event (project/application/event) to its context. Filled by the file that `belfry types` writes. */
// biome-ignore lint/suspicious/noEmptyInterface: it is what that file adds to
export interface Events {}

type Known = keyof Events & string;

/** The organization may stand before the path. */
export type EventPath = [Known] extends [never] ? string : Known | `${string}/${Known}`;

export type ContextOf<Path extends string> = [Known] extends [never]
  ? object
  : Path extends Known
    ? Events[Path]
    : Path extends `${string}/${infer Rest}`
      ? Rest extends Known
        ? Events[Rest]
        : object
      : object;
