/** What the messages of webhooks contain. */
import { expect, test } from 'vitest';
import { linksOf } from '../../src/core/configuration/webhooks.ts';
import type { JsonObject } from '../../src/core/json.ts';

test('a webhook has complete links, and none without BASE_URL', () => {
  const base = 'https://notify.acme.test/api/o/acme';
  const messages: JsonObject[] = [
    { occurrence: 'x', delivery: 1 },
    { occurrence: 'x' },
    { channel: 'mail' },
    { webhook: 'ops' },
  ];
  expect(messages.map(data => linksOf('delivery.sent', data, 'acme', 'https://notify.acme.test'))).toEqual([
    { links: { occurrence: `${base}/occurrence/x/`, delivery: `${base}/occurrence/x/deliveries/1/` } },
    { links: { occurrence: `${base}/occurrence/x/` } },
    { links: { channels: `${base}/channel/` } },
    {},
  ]);
  expect(messages.map(data => linksOf('delivery.sent', data, 'acme', undefined))).toEqual([{}, {}, {}, {}]);
});
