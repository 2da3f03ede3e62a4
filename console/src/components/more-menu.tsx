/** Further actions of a page, behind a button with three dots. */
import { ActionIcon, Menu } from '@mantine/core';
import { IconDots, IconTrash } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { texts } from '../texts/common.ts';
import { GuardedItem } from './guarded.tsx';

const icon = { size: 15, stroke: 1.6 };

export function MoreMenu({
  permission,
  onDelete,
  children,
}: {
  /** Permission that deleting needs. */
  permission: string;
  onDelete: () => void;
  /** The items above the delete item. */
  children?: ReactNode;
}) {
  return (
    <Menu position="bottom-end" shadow="md" keepMounted={false}>
      <Menu.Target>
        <ActionIcon variant="default" size={30} aria-label={texts.more}>
          <IconDots {...icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {children}
        <GuardedItem permission={permission} icon={<IconTrash {...icon} />} danger onClick={onDelete}>
          {texts.deleteItem}
        </GuardedItem>
      </Menu.Dropdown>
    </Menu>
  );
}
