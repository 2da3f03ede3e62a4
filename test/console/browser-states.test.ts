/**
 * The matrix of states and screens: wherever a delivery or an occurrence is shown, its word, color and sentence come from the
 * table in src/core/history/states.ts and fit what happened.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { formatTime } from '../../src/cli/format.ts';
import { reasons } from '../../src/core/decision/decide.ts';
import {
  channelStates,
  type DeliveryState,
  deliveryStates,
  occurrenceStates,
  refinedStates,
  type State,
} from '../../src/core/history/states.ts';
import type { Ask } from '../support/api.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { eventually } from '../support/eventually.ts';
import { type CreatedState, createEveryState } from '../support/every-state.ts';
import { belfry } from '../support/process.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 240_000 });

let site: DemoConsole;
let page: Page;
let ask: Ask;
let world: Awaited<ReturnType<typeof createEveryState>>;

beforeAll(async () => {
  site = await openDemoConsole();
  ({ ask, page } = site);
  world = await createEveryState(ask);
  await page.setViewportSize({ width: 1440, height: 1000 });
});
afterAll(async () => {
  await site.close();
  await world?.close();
});

/** Those with one delivery whose state is part of the matrix. */
const withDelivery = () => world.created.filter(({ expected }) => expected.delivery);

/** What a badge shows, or should show; times are replaced by `…`. */
interface Shown {
  word: string;
  color: string;
  sentence: string;
}

function expectedOf(state: State, reason: string | null, waits: boolean): Shown {
  const why = reason && reasons[reason as keyof typeof reasons];
  const sentence = waits && state.until ? state.until.replace('{time}', '…') : why ? `${why}.` : state.meaning;
  return { word: state.name, color: state.color, sentence: sentence.charAt(0).toUpperCase() + sentence.slice(1) };
}

async function shownIn(row: Locator): Promise<Shown> {
  return readBadge(row.locator('.mantine-Badge-root').first());
}

/** How long the pointer stays before it tries again. */
const hoverMs = 3_000;

const withoutTime = (sentence: string) => sentence.replace(/(?<= at | until )(?=.*\d).+(?=\.$)/, '…');

/** Reads an element with a dot and a tooltip. Lists refresh themselves: if the element moves away, the pointer follows it. */
async function readBadge(badge: Locator): Promise<Shown> {
  await badge.waitFor();
  const tooltip = page.getByRole('tooltip').first();
  const sentence = await eventually(async () => {
    await page.mouse.move(0, 0);
    await tooltip.waitFor({ state: 'detached', timeout: hoverMs });
    await badge.hover({ timeout: hoverMs });
    return tooltip.innerText({ timeout: hoverMs });
  });
  await page.mouse.move(0, 0);
  await tooltip.waitFor({ state: 'detached' });
  const style = (await badge.locator('.dot').getAttribute('style')) ?? '';
  return { word: await badge.innerText(), color: /color-(\w+)-7/.exec(style)?.[1] ?? style, sentence };
}

async function readOccurrence(id: string) {
  return (await ask({ path: `/api/o/demo/occurrence/${id}/` })).body;
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Returns what the console shows of a summary: its times are in another time zone. */
function patternOf(summary: string): RegExp {
  const parts = summary.split(/\d{4}-\d\d-\d\dT[\d:.]+Z/).map(escaped);
  return new RegExp(`^${parts.join('[\\w ,:+-]+')}$`);
}

async function expectOccurrence({ name, id, expected }: CreatedState, row: Locator): Promise<void> {
  const { summary } = await readOccurrence(id);
  const { name: word, color } = occurrenceStates[expected.occurrence];
  const { sentence, ...badge } = await shownIn(row);
  expect({ name, ...badge }).toEqual({ name, word, color });
  expect(sentence, name).toMatch(patternOf(summary));
}

async function expectDelivery({ name, expected }: CreatedState, row: Locator): Promise<void> {
  const [state, reason] = expected.delivery!;
  const waits = /^(waiting|retrying)/.test(state);
  const { sentence, ...badge } = await shownIn(row);
  const wanted = expectedOf(deliveryStates[state], reason, waits);
  expect({ name, ...badge, sentence: withoutTime(sentence) }).toEqual({ name, ...wanted });
}

const rowsOf = (table: string) => page.getByRole('table', { name: table, exact: true }).locator('tbody tr');
const linkTo = (table: string, id: string) =>
  rowsOf(table)
    .filter({ has: page.locator(`a[href*="${id}"]`) })
    .first();

/** Scrolls until the row is loaded. */
async function loadRow(row: Locator): Promise<Locator> {
  while ((await row.count()) === 0) {
    await page.mouse.wheel(0, 5_000);
    await page.getByRole('table').first().locator('tbody tr').first().waitFor();
  }
  return row;
}

test('the API shows the same state of a delivery in all lists and explanations', async () => {
  const activity = (await ask({ path: '/api/o/demo/activity/?limit=200' })).body as { occurrence: string }[];
  for (const { name, id, user, expected } of withDelivery()) {
    const [state, reason] = expected.delivery!;
    const shown = [{ state, reason }];
    const { body: rows } = await ask({ path: `/api/o/demo/occurrence/${id}/deliveries/` });
    expect(rows, name).toMatchObject(shown);
    expect(activity.filter(({ occurrence }) => occurrence === id)).toMatchObject(shown);
    const { body: history } = await ask({ path: `/api/o/demo/u/${user}/deliveries/?limit=200` });
    expect(history.filter((row: { occurrence: string }) => row.occurrence === id)).toMatchObject(shown);
    const { body: why } = await ask({ path: `/api/o/demo/occurrence/${id}/why/?user=${user}` });
    expect(why.deliveries).toMatchObject(shown);
  }
});

test('every place of the API says the same about an occurrence, and what its counts say', async () => {
  const { body: listed } = await ask({ path: '/api/o/demo/occurrence/?limit=200' });
  const { body: sent } = await ask({ path: '/api/o/demo/webhooks/ends/messages/?limit=500' });
  const outcomesSeen = new Set<string>();
  for (const { name, id, user, expected } of world.created) {
    const { summary, state, outcome, counts, status } = await readOccurrence(id);
    outcomesSeen.add(outcome);
    expect({ name, state }).toEqual({ name, state: expected.occurrence });
    expect(listed.find((one: { identifier: string }) => one.identifier === id)).toMatchObject({ summary, outcome });
    const why = await ask({ path: `/api/o/demo/occurrence/${id}/why/?user=${user || 'ann@demo.test'}` });
    expect(why.body.summary, name).toBe(summary);
    if (status !== 'completed') expect(JSON.stringify(why.body.answers), name).not.toContain('It was not sent');
    // A report that comes later changes what was announced.
    const ended = sent.filter(({ data }: { data: { occurrence: string } }) => data.occurrence === id);
    expect(ended, name).toHaveLength(status === 'completed' ? 1 : 0);
    if (ended[0] && !expected.reports) expect(ended[0].data, name).toMatchObject({ summary, state, outcome });
    const total = Object.values(counts as Record<string, number>).reduce((sum, n) => sum + n, 0);
    expect(/\ball\b/i.test(summary.replace('All steps', '')), summary).toBe(
      Object.values(counts).includes(total) && total > 1 && status === 'completed' && state !== 'dry_run',
    );
    expect(/failed/.test(summary), summary).toBe(counts.failed > 0);
  }
  const lasting = [
    'scheduled',
    'held',
    'sending',
    'sent',
    'partly_failed',
    'failed',
    'unknown',
    'no_recipients',
    'suppressed',
  ];
  expect([...outcomesSeen]).toEqual(expect.arrayContaining([...lasting, 'cancelled', 'expired', 'escalating']));
});

test('activity finds each delivery by the state that it shows', async () => {
  const refined = withDelivery().filter(({ expected }) => Object.hasOwn(refinedStates, expected.delivery![0]));
  // A silence would hold the other cases, too: engine/silences.test.ts.
  const shown = Object.keys(refinedStates).filter(state => state !== 'waiting_silence');
  expect(new Set(refined.map(({ expected }) => expected.delivery![0]))).toEqual(new Set(shown));
  for (const { id, expected } of refined) {
    const [state] = expected.delivery!;
    await page.goto(`/o/demo/activity?status=${state}`);
    await expectDelivery({ id, name: state, user: '', expected }, await loadRow(linkTo('Activity', id)));
    expect(await page.getByLabel('Status', { exact: true }).first().inputValue()).toBe(deliveryStates[state].name);
  }
});

test('the command line lists and explains every state with the words of the table', async () => {
  const env = { BELFRY_URL: site.service.address, BELFRY_KEY: site.demo.key };
  const { stdout } = await belfry(['occurrences', 'demo', '--limit', '100'], env);
  for (const { name, id, expected } of world.created) {
    const line = stdout.split('\n').find(each => each.includes(id));
    expect(line).toContain(`shop/web/${name}`);
    const { summary } = await readOccurrence(id);
    const sentence = summary.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time: string) => formatTime(time));
    expect(line).toMatch(new RegExp(`  ${occurrenceStates[expected.occurrence].name} +${escaped(sentence)}$`));
  }
  const throttled = withDelivery().find(({ name }) => name === 'throttled')!;
  const why = await belfry(['why', 'demo', throttled.id, throttled.user], env);
  expect(why.stdout).toContain(reasons.throttled);
});

test('the list of occurrences shows the state of each', async () => {
  await page.goto('/o/demo/occurrences');
  for (const one of world.created) await expectOccurrence(one, await loadRow(linkTo('Occurrences', one.id)));
});

test('the page of each occurrence shows its state', async () => {
  for (const one of world.created) {
    await page.goto(`/o/demo/occurrences/${one.id}`);
    const heading = page.getByRole('heading', { level: 1 }).locator('xpath=..');
    await expectOccurrence(one, heading);
    const verdict = (await page.getByRole('status', { name: 'Result' }).innerText()).split('\n')[0]!;
    expect(verdict, one.name).toMatch(patternOf((await readOccurrence(one.id)).summary));
    const isFolded = one.expected.occurrence === 'suppressed' || one.expected.occurrence === 'dry_run';
    if (one.expected.delivery && !isFolded) await expectDelivery(one, rowsOf('Deliveries').first());
  }
});

test('the page of each event shows the state of its last occurrence', async () => {
  for (const one of world.created) {
    await page.goto(`/o/demo/p/shop/a/web/e/${one.name}`);
    await expectOccurrence(one, linkTo('Recent occurrences', one.id));
  }
});

test('activity and the pages of the recipients show the state of each delivery', async () => {
  await page.goto('/o/demo/activity');
  for (const one of withDelivery()) await expectDelivery(one, await loadRow(linkTo('Activity', one.id)));
  for (const user of new Set(withDelivery().map(one => one.user))) {
    await page.goto(`/o/demo/users/${user}`);
    for (const one of withDelivery().filter(each => each.user === user)) {
      await expectDelivery(one, await loadRow(linkTo('Deliveries', one.id)));
    }
  }
});

test('the overview shows what failed, may have arrived or waits for an acknowledgement', async () => {
  await page.goto('/o/demo');
  const causes = rowsOf('Causes of failures');
  const failed = withDelivery().filter(({ expected }) => /^(failed|bounced|unknown)$/.test(expected.delivery![0]));
  for (const one of failed) await expectDelivery(one, causes.filter({ hasText: one.expected.channels![0]! }));
  expect(await causes.count()).toBe(failed.length);
  const waiting = page.getByRole('region', { name: 'Waiting for an acknowledgement' });
  for (const one of world.created) {
    const line = waiting.locator('.mantine-Group-root').filter({ has: page.locator(`a[href*="${one.id}"]`) });
    const awaits = /^(escalating|unacknowledged)$/.test(one.expected.occurrence);
    if (awaits) await expectOccurrence(one, line.first());
    else expect(await line.count(), one.name).toBe(0);
  }
});

test('the drawer of each delivery shows its state, and each attempt the state of its outcome', async () => {
  for (const one of withDelivery()) {
    const [delivery] = (await ask({ path: `/api/o/demo/occurrence/${one.id}/deliveries/` })).body;
    await page.goto(`/o/demo/occurrences/${one.id}?delivery=${delivery.id}`);
    const drawer = page.getByRole('dialog', { name: `Delivery ${delivery.id}` });
    await expectDelivery(one, drawer);
    const path = `/api/o/demo/occurrence/${one.id}/deliveries/${delivery.id}/attempts/`;
    const attempts: { outcome: DeliveryState }[] = (await ask({ path })).body;
    const rows = drawer.getByRole('table', { name: 'Attempts' }).locator('tbody tr');
    if (delivery.attempts > 0) await rows.nth(attempts.length - 1).waitFor();
    for (const [i, { outcome }] of attempts.entries()) {
      expect(await shownIn(rows.nth(i))).toEqual(expectedOf(deliveryStates[outcome], null, false));
    }
  }
});

test('the page of each channel shows its state and the outcomes of its deliveries', async () => {
  const expected: Record<string, (keyof typeof channelStates)[]> = {
    good: ['enabled'],
    paused: ['enabled', 'paused'],
    disabled: ['disabled'],
    bad: ['enabled', 'failing'],
    lost: ['enabled', 'failing'],
    limited: ['enabled', 'day_limit'],
  };
  for (const [slug, states] of Object.entries(expected)) {
    await page.goto(`/o/demo/channels/${slug}`);
    const badges = page.getByRole('heading', { level: 1 }).locator('xpath=..').locator('.mantine-Badge-root');
    await badges.first().waitFor();
    expect(await badges.count(), slug).toBe(states.length);
    for (const [i, name] of states.entries()) {
      const wanted = expectedOf(channelStates[name], null, false);
      // Green only if nothing speaks against it.
      const color = name === 'enabled' && states.length > 1 ? 'gray' : wanted.color;
      expect({ slug, ...(await readBadge(badges.nth(i))) }).toEqual({ slug, ...wanted, color });
    }
    const { health } = (await ask({ path: `/api/o/demo/c/${slug}/` })).body;
    const shown = (['sent', 'failed', 'unknown'] as const).filter(status => health[status] > 0);
    for (const status of shown) {
      const { name, color, meaning } = deliveryStates[status];
      const part = page.locator('.tip').filter({ hasText: new RegExp(`^${health[status]} ${name.toLowerCase()}$`) });
      const read = await readBadge(part);
      expect(read).toEqual({ word: `${health[status]} ${name.toLowerCase()}`, color, sentence: meaning });
    }
  }
});

test('the list of channels is green only for a channel that sends', async () => {
  await page.goto('/o/demo/channels');
  const marks = async (slug: string) => {
    const row = page.locator('tr, li').filter({ has: page.locator(`a[href$="/channels/${slug}"]`) });
    return row.first().innerText();
  };
  await page.locator('a[href$="/channels/good"]').first().waitFor();
  expect(await marks('good')).toContain('Enabled');
  expect(await marks('paused')).toContain('Paused');
  expect(await marks('disabled')).toContain('Disabled');
  expect(await marks('bad')).toContain('Failing');
  expect(await marks('lost')).toContain('Failing');
});
