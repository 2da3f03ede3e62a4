/** Prepares the demo for the image of the bounces guide: a message that its service accepted, and that bounced later. */
import type { Ask } from '../test/support/api.ts';
import { waitFor } from '../test/support/eventually.ts';
import { openHttpPeer } from '../test/support/http-peer.ts';

const org = '/api/o/demo';

/** Returns the path of the delivery. */
export async function prepareBounce(ask: Ask): Promise<string> {
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await ask({ method, path, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const service = await openHttpPeer({ status: 200, body: JSON.stringify({ ErrorCode: 0, MessageID: 'm-1' }) });
  const postmark = { use: 'postmark', server_token: 't', from: 'Shop <shop@demo.test>', endpoint: service.url };
  const channel = await send('POST', `${org}/c/`, {
    slug: 'postmark',
    name: 'Postmark',
    type: 'email',
    providers: [postmark],
  });
  const event = `${org}/p/shop/a/web/e/parcel-sent/`;
  await send('POST', `${org}/p/shop/a/web/e/`, { slug: 'parcel-sent', name: 'Parcel sent' });
  await send('POST', `${event}n/`, {
    name: 'email',
    recipients: { trigger: true },
    channels: ['postmark'],
    message: { subject: 'Your parcel is on its way', body: 'It arrives tomorrow.' },
  });
  const { occurrence } = await send('POST', `${event}trigger/`, {
    context: {},
    options: { recipients: ['ada@demo.test'] },
  });
  const deliveries = `${org}/occurrence/${occurrence}/deliveries/`;
  const delivery = await waitFor('the message to be sent', async () => {
    const [first] = await send('GET', deliveries);
    return first?.status === 'sent' && first;
  });
  await fetch(channel.feedback.addresses[0].url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      RecordType: 'Bounce',
      Type: 'HardBounce',
      MessageID: 'm-1',
      Metadata: { belfry_id: `${occurrence}.${delivery.id}` },
      Email: 'ada@demo.test',
      BouncedAt: new Date().toISOString(),
      Details: 'smtp;550 5.1.1 unknown user',
    }),
  });
  await service.close();
  return `/o/demo/occurrences/${occurrence}?delivery=${delivery.id}`;
}
