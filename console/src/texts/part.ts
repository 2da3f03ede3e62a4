/** A value inserted into a text. */
export type Part = string | number | null | undefined;
