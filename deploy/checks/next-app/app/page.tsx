import { BelfryInbox } from '@belfry/inbox/react';
import { Count } from './count';
import { getToken } from './token';

/** BELFRY_URL is read for each request. */
export const dynamic = 'force-dynamic';

/** A server component. */
export default function Page() {
  const url = process.env.BELFRY_URL ?? '';
  return (
    <main>
      <BelfryInbox url={url} organization="acme" username="jane@acme.test" getToken={getToken} className="bell" />
      <Count url={url} />
    </main>
  );
}
