/** Somebody who has never seen Belfry: from an empty organization to a mail that arrives, by clicking. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { buildConsole } from '../scripts/console.ts';
import type { Service } from '../src/app.ts';
import { createAccount } from '../src/services/accounts.ts';
import { eventually } from './support/api.ts';
import { axeViolations, openBrowser, type Visit, visit } from './support/browser.ts';
import { testService } from './support/database.ts';
import { openSmtpPeer, type SmtpPeer } from './support/smtp.ts';

// A journey of a minute on a busy machine.
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
  visitor.context.setDefaultTimeout(60_000);
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

async function click(what: Locator): Promise<void> {
  clicks++;
  await what.click();
}
const button = (name: string) => page.getByRole('button', { name, exact: true });
const dialog = () => page.getByRole('dialog');
const checklist = () => page.getByRole('region', { name: 'Getting started' });
const isDone = (amount: number) => checklist().getByText(`${amount} of 6 done`).waitFor();

describe('a newcomer', () => {
  test('creates an organization, and finds what to do next', async () => {
    await page.getByRole('heading', { name: 'No organization yet' }).waitFor();
    await click(button('New organization'));
    await dialog().getByLabel('Name').fill('Acme');
    await click(dialog().getByRole('button', { name: 'Create organization' }));
    await page.waitForURL(/\/o\/acme$/);
    await isDone(0);
    expect(await axeViolations(page)).toEqual([]);
  });

  test('adds a channel, where only the mail server has to be typed', async () => {
    await click(checklist().getByRole('button', { name: 'Add channel' }));
    await page.getByRole('heading', { name: '3. Settings' }).waitFor();
    await page.getByLabel('host', { exact: false }).first().fill('127.0.0.1');
    await page.getByLabel('port', { exact: false }).first().fill(String(smtp.port));
    expect(await axeViolations(page)).toEqual([]);
    await click(button('Create channel'));
    await isDone(1);
  });

  test('creates an event from a sample, and its message', async () => {
    await click(checklist().getByRole('button', { name: 'Create event' }));
    await dialog().getByText('Order receipt').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await click(dialog().getByRole('button', { name: 'Create event' }));
    await isDone(2);
    await click(checklist().getByRole('button', { name: 'Write message' }));
    await page.getByText('Your receipt for order A-1042').first().waitFor();
    await click(button('Create'));
    await isDone(3);
  });

  test('adds themselves, and a key with code to paste', async () => {
    await click(checklist().getByRole('button', { name: 'Add person' }));
    await click(dialog().getByRole('button', { name: 'Add person' }));
    await isDone(4);
    await click(checklist().getByRole('button', { name: 'Create key' }));
    await click(dialog().getByRole('button', { name: 'Create key' }));
    for (const language of ['TypeScript', 'Python', 'PHP', 'Go', 'curl']) {
      await dialog().getByRole('tab', { name: language }).click();
      const code = await dialog().locator('pre').last().innerText();
      expect(code).toMatch(/bf_\w+/);
      expect(code).toContain('/api/o/acme/p/shop/a/web-app/e/order-receipt/trigger/');
      expect(code).toContain('dry_run');
    }
    expect(await axeViolations(page)).toEqual([]);
    await click(button("I've copied it"));
    await isDone(5);
  });

  test('triggers it, is told how many it will reach, and gets the mail', async () => {
    await click(checklist().getByRole('button', { name: 'Try it' }));
    await page.getByText(email).first().waitFor();
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
