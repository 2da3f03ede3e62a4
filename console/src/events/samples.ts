/** Events to start from: common ones, each with a message that is ready to send and a context to try it with. */
import type { Draft } from '../designer/draft.ts';

export interface EventSample {
  key: string;
  name: string;
  slug: string;
  summary: string;
  notification: Pick<Draft, 'name' | 'recipients' | 'priority' | 'message'>;
  context: Record<string, unknown>;
}

export const eventSamples: EventSample[] = [
  {
    key: 'one-time-code',
    name: 'One-time code',
    slug: 'one-time-code',
    summary: 'A sign-in code for one person, sent right away',
    notification: {
      name: 'code',
      recipients: { trigger: true },
      priority: 'urgent',
      message: {
        subject: '{{ code }} is your sign-in code',
        body: 'Hello {{ user.first_name }},\n\nyour sign-in code is **{{ code }}**. It works for {{ minutes }} minutes.\n\nDidn’t try to sign in? You can ignore this message.\n',
      },
    },
    context: { code: '482916', minutes: 10 },
  },
  {
    key: 'order-receipt',
    name: 'Order receipt',
    slug: 'order-receipt',
    summary: 'A receipt for one customer, with a table of items',
    notification: {
      name: 'receipt',
      recipients: { trigger: true },
      priority: null,
      message: {
        subject: 'Your receipt for order {{ order }}',
        body: 'Hello {{ user.first_name }},\n\nthank you for your order **{{ order }}**.\n\n| Item | Price |\n| ---- | ----: |\n{% for item in items %}| {{ item.name }} | {{ item.price }} |\n{% endfor %}\nTotal: **{{ total }}**\n\n[View your order]({{ url }})\n',
      },
    },
    context: {
      order: 'A-1042',
      items: [
        { name: 'Brass bell', price: '24.00 €' },
        { name: 'Shipping', price: '4.90 €' },
      ],
      total: '28.90 €',
      url: 'https://example.com/orders/A-1042',
    },
  },
  {
    key: 'weekly-report',
    name: 'Weekly report',
    slug: 'weekly-report',
    summary: 'A summary for the people you name, sent when nothing else waits',
    notification: {
      name: 'report',
      recipients: { trigger: true },
      priority: 'bulk',
      message: {
        subject: 'Your week: {{ visitors }} visitors',
        body: 'Hello {{ user.first_name }},\n\nhere is your week from {{ from }} to {{ to }}:\n\n- **{{ visitors }}** visitors\n- **{{ orders }}** orders\n\n[Open the full report]({{ url }})\n',
      },
    },
    context: {
      from: 'June 1',
      to: 'June 7',
      visitors: 1280,
      orders: 34,
      url: 'https://example.com/reports/23',
    },
  },
];

export function findSample(key: string | null): EventSample | undefined {
  return eventSamples.find(sample => sample.key === key);
}

/** What the designer begins with; nothing for an event of one's own. */
export function startOf(key: string | null): Partial<Draft> {
  return findSample(key)?.notification ?? {};
}
