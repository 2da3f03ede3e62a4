/** What each system that can be imported from has to offer. */
import type { Imported, ImportOptions } from '../../core/import/imported.ts';
import type { ApiOptions } from './client.ts';

export interface ImportedSystem {
  /** Absent: each installation has its own. */
  defaultUrl?: string;
  headers(token: string): Record<string, string>;
  /** Where to get a token, as the end of an error message. */
  tokenHint: string;
  /** The default of `--channels`. Absent: email. */
  defaultChannels?: string;
  /** Reads everything that is carried over, and who is on call in the given span, as it is saved. */
  download(api: ApiOptions, span: { from: Date; until: Date }): Promise<unknown>;
  /** Throws an AppError with the fields that are wrong. */
  parse(content: unknown): Loaded;
}

export interface Loaded {
  fetchedAt: string;
  convert(options: ImportOptions): Imported;
}
