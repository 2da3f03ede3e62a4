/** Prepares the screenshots of the pager: someone is on call, and two alerts are open. */
import type { Page } from 'playwright-core';
import type { Ask } from '../test/support/api.ts';

const project = '/api/o/demo/p/shop/';
const event = `${project}a/web/e/page/`;

export async function preparePager(ask: Ask, me: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const { status, text } = await ask({ method: 'POST', path, body });
    if (status >= 300) throw new Error(`${path}: ${text}`);
  };
  await post('/api/o/demo/u/', { email: me, first_name: 'Ann', last_name: 'Example' });
  const vapid = { use: 'vapid', subject: 'mailto:ops@demo.test' };
  await post('/api/o/demo/c/', { slug: 'pager', name: 'Pager', type: 'webpush', providers: [vapid] });
  const turns = [me, 'grace@demo.test'];
  for (const [slug, name, users] of [
    ['primary', 'Primary', turns],
    ['database', 'Database', ['ada@demo.test', ...turns]],
  ] as const) {
    const layers = [{ name: 'Days', every: '1d', from: '2026-01-05T09:00', users }];
    await post(`${project}schedules/`, { slug, name, timezone: 'UTC', layers });
  }
  await post(`${project}a/web/e/`, { slug: 'page', name: 'Page' });
  await post(`${event}n/`, {
    name: 'page',
    recipients: { schedule: 'primary' },
    steps: [{ channels: ['pager'] }, { after: '10m', unless: 'acknowledged', channels: ['pager'] }],
    message: { subject: '{{ title }}', body: 'Please look at it.' },
  });
  for (const title of ['Disk full on db-3', 'Payments answer slowly'])
    await post(`${event}trigger/`, { context: { title } });
}

/** Acknowledges without a connection. */
export async function acknowledgeOffline(page: Page): Promise<void> {
  const bar = page.getByRole('region', { name: /^Respond to/ });
  await bar.waitFor();
  await page.context().setOffline(true);
  await bar.getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByText(/^Not sent yet/).waitFor();
}
