/** A schedule as its form has it: an empty text is an absent field. */
import type { Schedule } from '../../api-types.ts';
import { type DraftLayer, readLayer, toDraftLayer } from './layer-text.ts';

// A type, as forms take a record.
export type DraftSchedule = {
  name: string;
  timezone: string;
  combine: string;
  fallback: string;
  on_change: string;
  page: string;
  /** The event of test pages; empty for none. */
  test_event: string;
  test_every: string;
  test_at: string;
  test_priority: string;
  /** One per line: the channel and the ID. */
  groups: string;
  layers: DraftLayer[];
};

type TestPages = NonNullable<Schedule['test']>;
type Groups = NonNullable<Schedule['groups']>;
type Field = 'name' | 'timezone' | 'combine' | 'fallback' | 'on_change' | 'page' | 'test' | 'groups' | 'layers';
type Stored = Pick<Schedule, Field>;

export function toDraftSchedule({ name, timezone, combine, fallback, on_change, page, test, groups, layers }: Stored) {
  const draft: DraftSchedule = {
    ...{ name, timezone, combine },
    ...{ fallback: fallback ?? '', on_change: on_change ?? '', page: page ?? '' },
    ...{ test_event: test?.event ?? '', test_every: test?.every ?? '30d', test_at: test?.at ?? '10:00' },
    test_priority: test?.priority ?? '',
    groups: (groups ?? []).map(({ channel, group }) => `${channel} ${group}`).join('\n'),
    layers: layers.map(toDraftLayer),
  };
  return draft;
}

export function readSchedule(draft: DraftSchedule): Stored {
  const { name, timezone, combine, fallback, on_change, page, layers } = draft;
  const { test_event: event, test_every: every, test_at: at, test_priority: priority } = draft;
  const test: TestPages = { event, every: every.trim(), at, ...(priority && { priority: priority as 'urgent' }) };
  return {
    ...{ name, timezone, combine: combine as Stored['combine'] },
    ...{ fallback: fallback || null, on_change: on_change || null, page: page || null },
    test: event ? test : null,
    groups: readGroups(draft.groups),
    layers: layers.map(layer => readLayer(layer).layer),
  };
}

/** What is wrong with a line, such as a missing ID, is for the service to say. */
function readGroups(text: string): Groups | null {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  const groups = lines.map(line => {
    const [channel = '', ...rest] = line.trim().split(/\s+/);
    return { channel, group: rest.join(' ') };
  });
  return groups.length > 0 ? groups : null;
}
