/** A stretch of a list in the order of its ids. */
export interface PageRequest {
  /** The id before the first one wanted; 0 for the beginning. */
  after: number;
  limit: number;
}
