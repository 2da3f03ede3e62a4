/** The interface of a command, and what it has access to. */
import type { Config, Role } from '../config.ts';
import { AppError } from '../core/errors.ts';
import type { FeedbackReader } from '../core/feedback/event.ts';
import type { Deps } from '../services/deps.ts';

export interface Terminal {
  env: Record<string, string | undefined>;
  config: Config;
  /** Prints a line to standard output. */
  print(text: string): void;
  /** Prints a line to standard error. */
  warn(text: string): void;
  /** Shows a line on standard error that the next one replaces, if it is a terminal: scripts do not get it. */
  showProgress(text: string): void;
  /** Names the server or database that the command uses, once, if standard error is a terminal. */
  nameTarget(target: string): void;
  /** Whether standard output is a terminal. */
  interactive: boolean;
  /**
   * Opens the database while `work` runs, and starts the embedded one if it is not running. Fails when there is no database,
   * unless `mayCreate` is set: then one is created in the data folder.
   */
  withDeps<T>(work: (deps: Deps) => Promise<T>, options?: { mayCreate: boolean }): Promise<T>;
  /** Like `withDeps`, but passes only the URL of the database and does not migrate it. */
  withDatabase<T>(work: (url: string) => Promise<T>, options?: { mayCreate: boolean }): Promise<T>;
  /** Returns the readers of feedback by the name of the provider. */
  loadFeedbackReaders(): Promise<Readonly<Record<string, FeedbackReader>>>;
  /** Runs the service until it is stopped. `role` overrides the configured role. */
  serve(role: Role | undefined): Promise<void>;
}

export interface Command {
  name: string;
  /** Arguments shown in the help after the name. Alternative forms are separated by ` | `. */
  usage: string;
  summary: string;
  /** Shown by `belfry help NAME`. */
  details?: string;
  examples: string[];
  /** Returns the exit code if it is not always 0. */
  run(args: string[], terminal: Terminal): Promise<number> | Promise<void>;
}

/** Ends the command with exit code 2 and one line that says what is expected. */
export function usageError(message: string): AppError {
  return new AppError('usage.invalid', message);
}

/** Returns the forms of a command: what ` | ` separates, except in brackets. */
export function formsOf({ usage }: Pick<Command, 'usage'>): string[] {
  const forms = [''];
  let depth = 0;
  for (const part of usage.split(/( \| |[()[\]])/)) {
    if (part === '(' || part === '[') depth++;
    if (part === ')' || part === ']') depth--;
    if (part === ' | ' && depth === 0) forms.push('');
    else forms.push(forms.pop()! + part);
  }
  return forms;
}

/** Returns the names of a command's options, with their dashes. */
export function optionsOf({ usage, details = '' }: Pick<Command, 'usage' | 'details'>): string[] {
  return [...(`${usage}\n${details}`.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []), '--local', '--help'];
}

export function didYouMean(meant: string | undefined): string {
  return meant ? ` (did you mean ${meant}?)` : '';
}

/** Throws when BELFRY_URL is set, for commands that need the database itself. */
export function requireDatabaseHere({ config }: Terminal): void {
  if (!config.url) return;
  throw usageError(
    'this command needs direct access to the database: add --local, or unset BELFRY_URL, and use the settings of the server',
  );
}
