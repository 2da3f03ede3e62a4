/** Links to the organizations of the account that have moved to another cell. */
import { Anchor } from '@mantine/core';
import { to } from '../paths.ts';
import { useSession } from '../session.tsx';
import { texts } from '../texts/common.ts';

export function MovedOrganizations() {
  const { moved_organizations: moved } = useSession();
  return moved.map(({ slug, name, url }) => (
    <div key={slug}>
      <Anchor href={url + to.overview(slug)}>{texts.movedTo(name, new URL(url).host)}</Anchor>
    </div>
  ));
}
