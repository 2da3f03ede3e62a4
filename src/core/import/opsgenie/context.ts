import type { AddNote, ImportOptions } from '../imported.ts';
import type { People } from './people.ts';
import type { OpsgenieExport } from './resources.ts';

/** What schedules and their overrides are made with. */
export interface ScheduleContext extends ImportOptions {
  data: OpsgenieExport;
  people: People;
  note: AddNote;
}
