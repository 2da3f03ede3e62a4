/** Common events to start from, each with a finished message and a sample context. */
import type { Draft } from '../designer/draft.ts';
import { texts } from '../texts/events.ts';

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
    name: texts.oneTimeCode,
    slug: 'one-time-code',
    summary: texts.oneTimeCodeSummary,
    notification: {
      name: 'code',
      recipients: { trigger: true },
      priority: 'urgent',
      message: {
        subject: texts.oneTimeCodeSubject,
        body: texts.oneTimeCodeBody,
      },
    },
    context: { code: '482916', minutes: 10 },
  },
  {
    key: 'order-receipt',
    name: texts.orderReceipt,
    slug: 'order-receipt',
    summary: texts.orderReceiptSummary,
    notification: {
      name: 'receipt',
      recipients: { trigger: true },
      priority: null,
      message: {
        subject: texts.orderReceiptSubject,
        body: texts.orderReceiptBody,
      },
    },
    context: {
      order: 'A-1042',
      items: [
        { name: texts.brassBell, price: '24.00 €' },
        { name: texts.shipping, price: '4.90 €' },
      ],
      total: '28.90 €',
      url: 'https://example.com/orders/A-1042',
    },
  },
  {
    key: 'weekly-report',
    name: texts.weeklyReport,
    slug: 'weekly-report',
    summary: texts.weeklyReportSummary,
    notification: {
      name: 'report',
      recipients: { trigger: true },
      priority: 'bulk',
      message: {
        subject: texts.weeklyReportSubject,
        body: texts.weeklyReportBody,
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

/** Initial values for the designer; empty for a blank event. */
export function startOf(key: string | null): Partial<Draft> {
  return findSample(key)?.notification ?? {};
}
