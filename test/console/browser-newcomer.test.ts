/**
 * The path of a first-time user by clicks: from an empty organization to a delivered email.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { createAccount } from '../../src/services/identity/accounts.ts';

import { asker } from '../support/api.ts';
import { axeViolations, openBrowser, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

// The whole path takes a minute on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const email = 'nora@acme.test';
let service: Service;
let smtp: SmtpPeer;
let browser: Browser;
let visitor: Visit;
let page: Page;
let clicks = 0;

beforeAll(async () => {
  await buildConsole();
  smtp = await openSmtpPeer({ starttls: false });
  service = await testService({ BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8' });
  const { password } = await createAccount(service.runtime.deps, { email, name: 'Nora Newcomer', admin: true });
  browser = await openBrowser();
  visitor = await visit(browser, service.address);
  page = visitor.page;
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
});
afterAll(async () => {
  await visitor.close();
  await browser.close();
  await service.stop();
  await smtp.close();
});

async function click(target: Locator): Promise<void> {
  clicks++;
  await target.click();
}
const button = (name: string) => page.getByRole('button', { name, exact: true });
const dialog = () => page.getByRole('dialog');
const checklist = () => page.getByRole('region', { name: 'Getting started' });
const waitForDone = (amount: number) => checklist().getByText(`${amount} of 6 done`).waitFor();

describe('a newcomer', () => {
  test('creates an organization and sees the checklist', async () => {
    await page.getByRole('heading', { name: 'No organization yet' }).waitFor();
    await click(button('New organization'));
    await dialog().getByLabel('Name').fill('Acme');
    await click(dialog().getByRole('button', { name: 'Create organization' }));
    await page.waitForURL(/\/o\/acme$/);
    await waitForDone(0);
    expect(await axeViolations(page)).toEqual([]);
  });

  test('adds a channel by entering only the mail server', async () => {
    await click(checklist().getByRole('button', { name: 'Add channel' }));
    await page.getByRole('heading', { name: '3. Settings' }).waitFor();
    await page.getByLabel('host', { exact: false }).first().fill('127.0.0.1');
    await page.getByLabel('port', { exact: false }).first().fill(String(smtp.port));
    expect(await axeViolations(page)).toEqual([]);
    await click(button('Create channel'));
    await waitForDone(1);
  });

  test('creates an event and its message from a sample', async () => {
    await click(checklist().getByRole('button', { name: 'Create event' }));
    await dialog().getByText('Order receipt').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await click(dialog().getByRole('button', { name: 'Create event' }));
    await waitForDone(2);
    await click(checklist().getByRole('button', { name: 'Write message' }));
    await page.getByText('Your receipt for order A-1042').first().waitFor();
    await click(button('Create'));
    await waitForDone(3);
  });

  test('adds themselves as a person and creates an API key with code samples', async () => {
    await click(checklist().getByRole('button', { name: 'Add user' }));
    await click(dialog().getByRole('button', { name: 'Add user' }));
    await waitForDone(4);
    await click(checklist().getByRole('button', { name: 'Create key' }));
    await click(dialog().getByRole('button', { name: 'Create key' }));
    for (const language of ['TypeScript', 'Python', 'PHP', 'Go', 'curl']) {
      await dialog().getByRole('tab', { name: language }).click();
      const code = await dialog().locator('pre').last().innerText();
      expect(code).toMatch(/bf_\w+/);
      expect(code).toContain('/api/o/acme/p/shop/a/web-app/e/order-receipt/trigger/');
      expect(code).toContain('dry_run');
    }
    // The command works as it is pasted: the event's notification asks the trigger for recipients.
    const [, secret, body] = /Key (bf_\w+).*-d '(.*)'$/s.exec(await dialog().locator('pre').last().innerText())!;
    expect(JSON.parse(body!)).toMatchObject({ options: { recipients: [email] }, context: { order: 'A-1042' } });
    const pasted = { method: 'POST', path: '/api/o/acme/p/shop/a/web-app/e/order-receipt/trigger/' } as const;
    expect((await asker(service.address, secret!)({ ...pasted, body: JSON.parse(body!) })).status).toBe(201);
    expect(await axeViolations(page)).toEqual([]);
    await click(button('I’ve copied it'));
    await waitForDone(5);
  });

  test('triggers the event after seeing the number of messages, and receives the email', async () => {
    await click(checklist().getByRole('button', { name: 'Try it' }));
    // Their address is filled in; it is also in the menu.
    await page.getByRole('region', { name: 'Try it' }).getByText(email).waitFor();
    await click(button('Trigger'));
    await dialog().getByText('1 message will be sent to a real recipient.').waitFor();
    expect(smtp.mails).toEqual([]);
    await click(button('Trigger now'));
    await click(page.getByRole('link', { name: 'View occurrence' }));
    const mail = await eventually(() => {
      expect(smtp.mails).toHaveLength(1);
      return smtp.mails[0]!;
    });
    expect(mail.to).toEqual([email]);
    expect(mail.headers.subject).toBe('Your receipt for order A-1042');
    expect(clicks).toBeLessThanOrEqual(20);
  });
});
