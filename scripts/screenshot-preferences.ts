/** Prepares the demo for the images of the preferences guide: categories, and users with preferences. */
import type { Page } from 'playwright-core';
import type { Ask } from '../test/support/api.ts';

const org = '/api/o/demo';
const web = `${org}/p/shop/a/web/`;
const ada = `${org}/u/ada@demo.test`;

const categories = [
  { slug: 'security', name: 'Security', description: 'Sign-in codes and warnings.', kind: 'required' },
  { slug: 'orders', name: 'Orders', description: 'What happens to what you ordered.' },
  {
    slug: 'news',
    name: 'Newsletter',
    description: 'Once a month: news and offers.',
    kind: 'promotional',
    channel_defaults: { sms: false },
    channels: ['email', 'sms'],
  },
];

export async function preparePreferences(ask: Ask): Promise<void> {
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await ask({ method, path, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  /** The demo has some of them already. */
  const createOrUpdate = async (
    collection: string,
    { slug, ...body }: { slug: string; name: string; category?: string },
  ) => {
    const { status } = await ask({ method: 'POST', path: collection, body: { slug, ...body } });
    if (status >= 300) await send('PATCH', `${collection}${slug}/`, body);
  };
  await send('PATCH', `${org}/`, {
    brand_color: '#0b7285',
    timezone: 'Europe/Berlin',
    quiet_hours: { from: '22:00', to: '07:00' },
  });
  for (const category of categories) await createOrUpdate(`${org}/categories/`, category);
  await send('PATCH', `${web}e/order-paid/`, { category: 'orders' });
  await createOrUpdate(`${web}e/`, { slug: 'order-shipped', name: 'Order shipped', category: 'orders' });
  await createOrUpdate(`${web}e/`, { slug: 'monthly-news', name: 'Monthly news', category: 'news' });
  await createOrUpdate(`${web}e/`, { slug: 'sign-in-code', name: 'Sign-in code', category: 'security' });
  await send('POST', `${ada}/address/`, { name: 'phone', value: '+15555550100' });
  await send('PATCH', `${ada}/preferences/`, {
    preferences: [{ category: 'orders', channel_type: 'sms', enabled: false }],
  });
}

/** Switches the newsletter off like a recipient, and returns the URL of the page. */
export async function unsubscribeOnPage(ask: Ask, page: Page): Promise<string> {
  const { url } = (await ask({ method: 'POST', path: `${ada}/preferences/link/` })).body;
  await page.goto(url);
  await page.getByRole('checkbox', { name: 'Newsletter: Email' }).uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your settings were saved.').waitFor();
  return url;
}
