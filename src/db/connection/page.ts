/** A page of a list in the order of its ids. */
export interface PageRequest {
  /** The id before the first row of the page; 0 for the first page. */
  after: number;
  limit: number;
}

/** A page whose rows the database has serialized as JSON, so that they need not be parsed and serialized again. */
export interface JsonPage {
  /** JSON objects separated by commas. */
  text: string;
  /** The id of the last row; null if the page is empty. */
  last: number | null;
  /** Whether there are more rows after it. */
  more: boolean;
}
