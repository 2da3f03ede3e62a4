/** A stretch of a list in the order of its ids. */
export interface PageRequest {
  /** The id before the first one wanted; 0 for the beginning. */
  after: number;
  limit: number;
}

/** Rows as the database writes them: they need neither be taken apart nor put together again on their way. */
export interface WrittenPage {
  /** JSON objects with commas between them. */
  text: string;
  /** The id of the last of them; null where there is none. */
  last: number | null;
  /** Whether there is another after it. */
  more: boolean;
}
