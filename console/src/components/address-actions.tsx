/** Actions of what others call at its address, such as a source: a new address, and deletion. */
import { IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import type { Deleted } from '../api-types.ts';
import type { PathPrefix } from '../queries.ts';
import { texts } from '../texts/common.ts';
import { useAction } from './actions.tsx';
import { confirm } from './confirm.tsx';
import { Deletion } from './deletion.tsx';
import { GuardedItem } from './guarded.tsx';
import { MoreMenu } from './more-menu.tsx';

interface AddressActionsProps {
  name: string;
  /** Noun phrase for a sentence: `the source mail`. */
  what: string;
  rotate: () => Promise<unknown>;
  /** Says who needs the new address. */
  rotateHint: string;
  /** Called with `dryRun` first. */
  remove: (options: { dryRun: boolean }) => Promise<Deleted>;
  /** Says what callers get, and what is kept. */
  deletionHint: string;
  /** The resource itself, and lists of it. */
  refresh: { own: PathPrefix; lists: PathPrefix };
  onDeleted: () => void;
}

export function AddressActions(props: AddressActionsProps) {
  const { name, what, rotate, rotateHint, remove, deletionHint, refresh, onDeleted } = props;
  const [isDeleting, setDeleting] = useState(false);
  const rotation = useAction({ run: rotate, done: texts.addressReplaced, refresh: [refresh.own] });
  const ask = async () => {
    const children = `${texts.addressStops} ${rotateHint}`;
    if (await confirm({ title: texts.newAddressFor(name), children, action: texts.replaceAddress, danger: true }))
      rotation.mutate(undefined);
  };
  return (
    <>
      <MoreMenu permission="source:write" onDelete={() => setDeleting(true)}>
        <GuardedItem permission="source:write" icon={<IconRefresh size={15} stroke={1.6} />} onClick={() => void ask()}>
          {texts.newAddress}
        </GuardedItem>
      </MoreMenu>
      <Deletion
        opened={isDeleting}
        onClose={() => setDeleting(false)}
        what={what}
        run={remove}
        refresh={[refresh.lists]}
        leaves
        onDeleted={onDeleted}
      >
        {deletionHint}
      </Deletion>
    </>
  );
}
