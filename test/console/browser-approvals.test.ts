/**
 * The limits of the guards, and an approval from the link of a mail, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { eventually } from '../support/eventually.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let open: DemoConsole;

beforeAll(async () => {
  open = await openDemoConsole();
});
afterAll(() => open.close());

const event = '/api/o/demo/p/shop/a/web/e/order-paid/';

test('the organization and an event get limits, and a limit without a number is refused beside its field', async () => {
  const { page, ask } = open;
  await page.goto('/o/demo/settings');
  const form = page.getByRole('form', { name: 'Guards' });
  await form.getByRole('combobox', { name: 'Audience that needs an approval', exact: true }).click();
  await page.getByRole('option', { name: 'More than', exact: true }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('must be a whole number').waitFor();
  await takeScreenshots(page, 'guards-error');
  await form.getByLabel('Audience that needs an approval, number').fill('20000');
  await form.getByLabel('Wait for an approval for').fill('100d');
  await form.getByRole('switch', { name: 'Someone else has to approve' }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('must be at most 30d').waitFor();
  await form.getByLabel('Wait for an approval for').fill('4h');
  await takeScreenshots(page, 'guards-settings');
  expect(await axeViolations(page)).toEqual([]);
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  const guard = { audience: 20_000, expires: '4h', four_eyes: true };
  expect((await ask({ path: '/api/o/demo/settings/' })).body.guard).toEqual(guard);

  await page.goto('/o/demo/p/shop/a/web/e/order-paid');
  const section = page.getByRole('region', { name: 'Guards' });
  await section.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Audience that needs an approval', exact: true }).click();
  await page.getByRole('option', { name: 'More than', exact: true }).click();
  await dialog.getByLabel('Audience that needs an approval, number').fill('0');
  await dialog.getByRole('combobox', { name: 'Triggers in a minute that are too many', exact: true }).click();
  await page.getByRole('option', { name: 'Never' }).click();
  await takeScreenshots(page, 'guards-event');
  expect(await axeViolations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await section.getByText('More than 0').waitFor();
  expect((await ask({ path: event })).body.guard).toEqual({ audience: 0, rate: 'off' });
  await takeScreenshots(page, 'guards-event-shown');
});

test('a canary compares two variants of the message, whose other texts the form keeps', async () => {
  const { page, ask } = open;
  const created = await ask({
    method: 'POST',
    path: `${event}n/`,
    body: {
      name: 'compared',
      recipients: { trigger: true },
      channels: ['mail'],
      message: { subject: 'Half the price', body: 'Hello' },
      canary: {
        first: 50,
        variants: { winner_by: 'clicks', b: { message: { subject: 'Today', locales: { de: { subject: 'Heute' } } } } },
      },
    },
  });
  expect(created.status, created.text).toBe(201);
  const stored = async () => (await ask({ path: `${event}n/${created.body.id}/` })).body.canary;
  await page.goto(`/o/demo/p/shop/a/web/e/order-paid/n/${created.body.id}`);
  const compare = page.getByRole('switch', { name: 'Compare two variants of the message' });
  const subject = page.getByRole('textbox', { name: 'Subject of variant b' });
  const save = page.getByRole('button', { name: 'Save', exact: true });
  expect(await compare.isChecked()).toBe(true);
  await page.getByRole('combobox', { name: 'The better one has more' }).click();
  await page.getByRole('option', { name: 'Actions taken by recipients' }).click();
  await subject.fill('{{ oops');
  await save.click();
  await page
    .getByText(/Line 1, column/)
    .first()
    .waitFor();
  await takeScreenshots(page, 'variants-error');
  // Replacing highlighted text, the browser would keep its style inline.
  await subject.press('ControlOrMeta+a');
  await subject.press('Delete');
  await subject.fill('Only today');
  // A blinking cursor would keep the page from being still.
  await subject.blur();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'variants');
  await save.click();
  await eventually(async () =>
    expect(await stored()).toEqual({
      first: 50,
      variants: {
        winner_by: 'acknowledgements',
        b: { message: { subject: 'Only today', locales: { de: { subject: 'Heute' } } } },
      },
    }),
  );
  await compare.click();
  await save.click();
  await eventually(async () => expect(await stored()).toEqual({ first: 50 }));
});

test('the page of an occurrence shows which variant won, and a delivery which one it has', async () => {
  const { page, ask } = open;
  const path = '/api/o/demo/p/shop/a/web/e/';
  // Four recipients are twice the sample.
  const user = { email: 'fourth@demo.test', first_name: 'Four', last_name: 'Th' };
  expect((await ask({ method: 'POST', path: '/api/o/demo/u/', body: user })).status).toBe(201);
  const notification = {
    name: 'sale',
    recipients: { users: '!locked' },
    channels: ['mail'],
    message: { subject: 'Half the price', body: 'Hello' },
    canary: { first: 2, wait: '1s', variants: { winner_by: 'clicks', b: { message: { subject: 'Today' } } } },
  };
  expect((await ask({ method: 'POST', path, body: { slug: 'sale', name: 'Sale' } })).status).toBe(201);
  const made = await ask({ method: 'POST', path: `${path}sale/n/`, body: notification });
  expect(made.status, made.text).toBe(201);
  const { body } = await ask({ method: 'POST', path: `${path}sale/trigger/`, body: {} });
  const at = `/api/o/demo/occurrence/${body.occurrence}/`;
  await eventually(async () => expect((await ask({ path: `${at}hold/` })).body.state).toBe('released'), 20_000);
  await eventually(async () => expect((await ask({ path: at })).body.status).toBe('completed'), 20_000);
  await page.goto(`/o/demo/occurrences/${body.occurrence}`);
  await page
    .getByText(/Clicked: 0 of 1 with variant a \(0%\), 0 of 1 with variant b \(0%\)\. The others get variant a\./)
    .waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'variants-occurrence');
  const { body: deliveries } = await ask({ path: `${at}deliveries/` });
  const other = deliveries.find((one: { variant: string }) => one.variant === 'b');
  await page.goto(`/o/demo/occurrences/${body.occurrence}?delivery=${other.id}`);
  await page.getByRole('dialog').getByRole('row', { name: 'Variant b' }).waitFor();
  await takeScreenshots(page, 'variants-delivery');
});

test('the links of a mail open the dialog that approves or rejects, and decide nothing by themselves', async () => {
  const { page, ask } = open;
  await ask({ method: 'PATCH', path: event, body: { guard: { audience: 0 } } });
  const { body } = await ask({ method: 'POST', path: `${event}trigger/`, body: { context: { order: 'A-1' } } });
  const hold = async () => (await ask({ path: `/api/o/demo/occurrence/${body.occurrence}/hold/` })).body;
  await eventually(async () => expect(await hold()).toMatchObject({ state: 'held' }), 20_000);
  const at = `/o/demo/occurrences/${body.occurrence}`;
  const dialog = page.getByRole('dialog');
  await page.goto(`${at}?decide=reject`);
  await dialog.getByRole('button', { name: 'Reject' }).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.goto(`${at}?decide=approve`);
  await dialog.getByRole('button', { name: 'Approve' }).waitFor();
  await takeScreenshots(page, 'approve-by-mail');
  expect(await hold()).toMatchObject({ state: 'held' });
  expect(new URL(page.url()).search).toBe('');
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await eventually(async () => expect(await hold()).toMatchObject({ state: 'approved' }));
  await takeScreenshots(page, 'approved');
  expect(open.complaints).toEqual([]);
});
