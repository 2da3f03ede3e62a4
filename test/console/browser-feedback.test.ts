/**
 * What services post, in the console: the addresses of a channel, and what was reported about a delivery, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import type { Service } from '../../src/app.ts';
import { feedbackEvent } from '../../src/core/feedback/event.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { storeFeedback } from '../../src/services/history/feedback/feedback.ts';
import { createDemo } from '../../src/services/operations/demo/demo.ts';
import { asker } from '../support/api.ts';
import { axeViolations, openBrowser, signIn, takeScreenshots, type Visit, visit } from '../support/browser.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';
import { bot } from '../support/teams.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let service: Service;
let browser: Browser;
let visitor: Visit;
let page: Page;
let trigger: () => Promise<string>;

beforeAll(async () => {
  await buildConsole();
  service = await testService();
  const demo = (await createDemo(service.runtime.deps))!;
  browser = await openBrowser();
  visitor = await visit(browser, service.address);
  visitor.context.setDefaultTimeout(30_000);
  page = visitor.page;
  await signIn(page, demo.signIn);
  trigger = async () => {
    const answer = await asker(service.address, demo.key)({ method: 'POST', path: demo.triggerPath, body: {} });
    return answer.body.occurrence;
  };
});
afterAll(async () => {
  await visitor.close();
  await browser.close();
  await service.stop();
});

interface Sent {
  organization_id: number;
  occurrence_id: string;
  id: number;
}

test('a channel shows where its service posts pressed buttons', async () => {
  const slack = { use: 'slack', token: 'xoxb-12345678-token' };
  const channels = [{ slug: 'chat', name: 'Chat', type: 'slack', providers: [slack] }];
  const organizations = [{ slug: 'demo', name: 'Demo', channels }];
  await applyConfiguration(service.runtime.deps, { organizations }, { prune: false });
  await page.goto('/o/demo/channels/chat');
  const section = page.getByRole('region', { name: 'Buttons and replies' });
  await section.getByText(/\/interactions\/[0-9a-f]{64}\/slack\//).waitFor();
  await section.getByText('until then, all of them are refused').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'interactions-channel');
});

test('a Teams bot is created in the form of its settings, and its page shows the messaging endpoint', async () => {
  await page.goto('/o/demo/new-channel');
  await page.getByRole('button', { name: /^Microsoft Teams/ }).click();
  await page.getByRole('button', { name: /^Teams bot/ }).click();
  await page.getByLabel('Name').first().fill('On-call Teams');
  await takeScreenshots(page, 'teams-new');
  await page.getByLabel('App ID').fill('not an ID');
  await page.getByRole('textbox', { name: 'App secret' }).fill('hush~secret-of-the-bot');
  await page.getByLabel('Tenant ID').fill(bot.tenant_id);
  await page.getByRole('button', { name: 'Create channel' }).click();
  await page.getByText('must be an ID such as 0d569679-ab9d-479a-b0d8-238b6e6b1149').waitFor();
  await page.getByLabel('App ID').fill(bot.app_id);
  await page.getByRole('button', { name: 'Create channel' }).click();
  await page.waitForURL(/\/channels\/on-call-teams/);
  await page.goto('/o/demo/channels/on-call-teams');
  const section = page.getByRole('region', { name: 'Buttons and replies' });
  await section.getByText(/\/interactions\/[0-9a-f]{64}\/teams\//).waitFor();
  await section.getByText(/messaging endpoint of the bot/).waitFor();
  expect(await section.getByText('until then, all of them are refused').count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'teams-channel');
});

test('a channel shows the address to enter at the service, and a delivery shows that it bounced', async () => {
  const { deps, url } = service.runtime;
  const occurrence = await trigger();
  const sent = await eventually(async () => {
    const rows = await runSql<Sent>(
      url,
      `select organization_id::int, occurrence_id, id::int from deliveries
       where occurrence_id = $1 and status = 'sent' and provider = 'sandbox' order by id limit 1`,
      [occurrence],
    );
    expect(rows).toHaveLength(1);
    return rows[0]!;
  }, 8_000);
  await deps.db
    .updateTable('channels')
    .set({
      providers: JSON.stringify([
        { use: 'mailgun', from: 'a@acme.test' },
        { use: 'postmark', from: 'a@acme.test' },
        { use: 'smtp', host: 'mx.acme.test', from: 'a@acme.test', imap_host: 'mx.acme.test', imap_user: 'a@acme.test' },
      ]),
    })
    .where('type', '=', 'email')
    .execute();
  const [{ slug }] = (await runSql(url, "select slug from channels where type = 'email' order by id limit 1")) as [
    { slug: string },
  ];
  await runSql(
    url,
    `insert into feedback_mailboxes (organization_id, channel_id, mailbox, checked_at, failed_at, error, due_at)
     select organization_id, id, 'INBOX of a@acme.test at mx.acme.test:993', now(), now(), 'no such mailbox', 'infinity'
     from channels where type = 'email'`,
  );
  await page.goto(`/o/demo/channels/${slug}`);
  await page.getByText(/\/feedback\/[0-9a-f]{64}\/postmark\//).waitFor();
  await page.getByText('Set the webhook secret of the provider').waitFor();
  await page.getByText('Nothing yet').waitFor();
  await page.getByText('INBOX of a@acme.test at mx.acme.test:993').waitFor();
  await page.getByText('no such mailbox').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'feedback-channel');

  const deliveryId = `${sent.occurrence_id}.${sent.id}`;
  const text = '550 5.1.1 no such user';
  const events = [
    feedbackEvent({ type: 'delivered', deliveryId, at: new Date(Date.now() - 60_000).toISOString() }),
    feedbackEvent({ type: 'bounced', deliveryId, permanent: true, reason: 'unknown_user', text }),
  ];
  expect(await storeFeedback(deps, sent.organization_id, null, 'postmark', events, Date.now())).toMatchObject({
    matched: 2,
  });
  await page.goto(`/o/demo/occurrences/${sent.occurrence_id}?delivery=${sent.id}`);
  const drawer = page.getByRole('dialog');
  await drawer.getByText('Bounced', { exact: true }).waitFor();
  await drawer.getByText('Bounced permanently').waitFor();
  await drawer.getByText('Delivered', { exact: true }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'feedback-delivery');
});

test('a channel with too many bounces shows why its bulk messages wait, and resumes them', async () => {
  const { url } = service.runtime;
  const reason = '6.4 % of 1250 messages bounced permanently (limit 5 %)';
  const [{ id, slug }] = (await runSql(
    url,
    "select id::int, slug from channels where type = 'email' order by id limit 1",
  )) as [{ id: number; slug: string }];
  const providers = JSON.stringify([{ use: 'smtp', host: 'mail.acme.test', port: 25, from: 'a@acme.test' }]);
  await runSql(
    url,
    'update channels set bulk_paused_at = now(), bulk_paused_reason = $2, providers = $3 where id = $1',
    [id, reason, providers],
  );
  const banner = page.getByRole('region', { name: `Bulk messages of channel ${slug} are paused` });
  await page.goto('/o/demo');
  await banner.getByText(reason).waitFor();
  await takeScreenshots(page, 'guard-overview');
  await page.goto('/o/demo/channels');
  await page.getByText('Bulk paused').waitFor();
  await takeScreenshots(page, 'guard-channels');
  await page.goto(`/o/demo/channels/${slug}`);
  await page.getByText('Complaints', { exact: true }).waitFor();
  await page.getByLabel('Permanent bounces (%)').fill('7.5');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'guard-channel');
  await banner.getByRole('button', { name: 'Resume' }).click();
  await banner.waitFor({ state: 'detached' });
  const [channel] = await runSql(
    url,
    'select bulk_paused_at, max_bounce_percent, reputation_since is not null as since from channels where id = $1',
    [id],
  );
  expect(channel).toEqual({ bulk_paused_at: null, max_bounce_percent: 7.5, since: true });
});
