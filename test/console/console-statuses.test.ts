/** The table that colors, labels and sentences of all statuses and outcomes come from. */
import { expect, test } from 'vitest';
import {
  deliveryStatuses,
  occurrenceOutcomes,
  statusOrder,
  waitingStyle,
} from '../../console/src/components/statuses.ts';
import { outcomes } from '../../src/core/decision/outcome.ts';
import * as core from '../../src/core/statuses.ts';

const tables = [
  ['delivery status', deliveryStatuses, core.deliveryStatuses],
  ['outcome', occurrenceOutcomes, outcomes],
] as const;

test.each(tables)('every %s of the API has a label and a sentence, and there are no others', (_, table, values) => {
  expect(Object.keys(table).sort()).toEqual([...values].sort());
  for (const { name, meaning } of Object.values(table)) {
    expect(name).toMatch(/^[A-Z]/);
    expect(meaning).toMatch(/^[A-Z].*\.$/);
  }
  const names = Object.values(table).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('bars and legends show every status of a delivery', () => {
  expect(statusOrder.toSorted()).toEqual(Object.keys(deliveryStatuses).sort());
});

test.each(tables)('only a good %s is green, only a bad one red, and an uncertain one is orange', (_, table) => {
  const namesIn = (color: string) => Object.keys(table).filter(name => table[name]!.color === color);
  for (const good of namesIn('teal')) expect(['sent', 'acknowledged', 'resolved']).toContain(good);
  for (const bad of namesIn('red')) expect(['failed', 'unacknowledged']).toContain(bad);
  expect(namesIn('orange')).toContain('unknown');
  for (const [name, { color, fill }] of Object.entries(table))
    expect(`${name}: ${fill}`).toContain(`${name}: ${color}.`);
});

test('what waits or has ended does not move', () => {
  const moving = (table: typeof occurrenceOutcomes) => Object.keys(table).filter(name => table[name]!.moving);
  expect(moving(deliveryStatuses)).toEqual(['pending', 'sending', 'retrying']);
  expect(moving(occurrenceOutcomes)).toEqual(['expanding', 'sending', 'escalating']);
  expect(waitingStyle('Waiting for the digest at 21:13').moving).toBeUndefined();
});
