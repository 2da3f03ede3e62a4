/** What is put into a text. */
export type Part = string | number | null | undefined;
