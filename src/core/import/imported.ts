/** What an importer makes of the configuration of another on-call system. */
import type { ApplicationEntry, ListEntry, ProjectEntry, UserEntry } from '../configuration/document.ts';
import type { Override } from '../oncall/schedule.ts';
import type { SourceShift } from './check.ts';

export type ScheduleEntry = NonNullable<ProjectEntry['schedules']>[number];
export type EventEntry = NonNullable<ApplicationEntry['events']>[number];
export type SourceEntry = NonNullable<ApplicationEntry['sources']>[number];

/** Something that is not carried over, or not as it was. */
export interface Note {
  /** What it is, such as `schedule Primary`. */
  subject: string;
  /** The reason, and what to do about it. */
  reason: string;
}

export type AddNote = (subject: Note['subject'], reason: Note['reason']) => void;

/** A schedule with what the other system says about who is on call, so that both can be compared. */
export interface ImportedSchedule {
  entry: ScheduleEntry;
  /** Those that have not ended: they are data, not configuration. */
  overrides: Override[];
  expected: { from: number; until: number; shifts: SourceShift[] } | undefined;
}

export interface Imported {
  users: UserEntry[];
  lists: ListEntry[];
  schedules: ImportedSchedule[];
  events: EventEntry[];
  sources: SourceEntry[];
  notes: Note[];
}

export interface ImportOptions {
  /** In milliseconds. What has ended by then is left out. */
  now: number;
  /** `ORG/PRJ`, for the commands in notes. */
  project: string;
  /** Slugs or types of the channels that all steps use. */
  channels: string[];
}
