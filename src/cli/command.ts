/** A command of the command line, and what it is given. */
import type { Config, Role } from '../config.ts';
import { AppError } from '../core/errors.ts';
import type { Deps } from '../services/deps.ts';

export interface Terminal {
  env: Record<string, string | undefined>;
  config: Config;
  /** A line on standard output. */
  print(text: string): void;
  /** A line on standard error. */
  warn(text: string): void;
  /** Whether a person is looking at standard output. */
  interactive: boolean;
  /**
   * Opens the database (starting the embedded one when nobody else has) for as long as the work takes. Without a database
   * there, it fails; only with `mayCreate` one is made in the data folder.
   */
  withDeps<T>(work: (deps: Deps) => Promise<T>, options?: { mayCreate: boolean }): Promise<T>;
  /** The same by its address alone: whatever is in it is not touched. */
  withDatabase<T>(work: (url: string) => Promise<T>, options?: { mayCreate: boolean }): Promise<T>;
  /** Runs the service, in another role than configured if one is given, until it is told to stop. */
  serve(role: Role | undefined): Promise<void>;
}

export interface Command {
  name: string;
  /** What follows the name, in the help. */
  usage: string;
  summary: string;
  /** Shown by `belfry help NAME`. */
  details?: string;
  examples: string[];
  /** Returns the exit code. */
  run(args: string[], terminal: Terminal): Promise<number>;
}

/** Exit code 2, with one line that says what was expected. */
export function wrongUsage(message: string): AppError {
  return new AppError('usage.invalid', message);
}

/** For what is done with the database itself, and not over HTTP. */
export function requireDatabaseHere({ config }: Terminal): void {
  if (!config.url) return;
  throw wrongUsage('this is done where the database is: unset BELFRY_URL, and run it with the settings of the server');
}
