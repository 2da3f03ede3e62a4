/** Header of every page: breadcrumb, title, description and actions. */
import { Anchor, Box, Group, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { Link, useLocation } from 'react-router';
import { texts } from '../texts/common.ts';

interface PageProps {
  title: string;
  /** Shown beside the title, such as a badge. */
  aside?: ReactNode;
  description?: ReactNode;
  /** Breadcrumb, outermost first. */
  parents?: { label: string; to: string }[];
  actions?: ReactNode;
  /** Title of the browser tab; the default is `title`. */
  documentTitle?: string;
  /** Uses the full width of the screen, for pages with two panes. */
  wide?: boolean;
  children: ReactNode;
}

/** Path of the last page. The first page of a visit keeps the focus where the browser put it. */
let visited: string | undefined;

export function Page(props: PageProps) {
  const { title, aside, description, parents = [], actions, documentTitle, wide = false, children } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    // Screen readers announce the new page's title, and Tab continues from its top.
    if (visited !== undefined && visited !== pathname) heading.current?.focus({ preventScroll: true });
    visited = pathname;
  }, [pathname]);

  return (
    <Box maw={wide ? 1840 : 1280} mx="auto" w="100%">
      <title>{texts.documentTitle(documentTitle ?? title)}</title>
      <Group component="header" justify="space-between" align="flex-start" gap="md" mb="lg" wrap="wrap">
        <Stack gap={2} miw={0}>
          {parents.length > 0 && (
            <Group component="nav" aria-label={texts.breadcrumb} gap={6}>
              {parents.map(({ label, to }) => (
                <Text key={to} size="xs" c="dimmed">
                  <Anchor component={Link} to={to} c="dimmed" inherit>
                    {label}
                  </Anchor>
                  <span aria-hidden> /</span>
                </Text>
              ))}
            </Group>
          )}
          <Group gap="sm" mih={30}>
            <Title order={1} ref={heading} tabIndex={-1} style={{ overflowWrap: 'anywhere' }}>
              {title}
            </Title>
            {aside}
          </Group>
          {description && (
            <Text component="div" c="dimmed" size="sm" maw={720}>
              {description}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Box>
  );
}

/** A card with a title. */
export function Section({
  title,
  aside,
  children,
  padded = true,
  fills = false,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  /** Whether it is as high as what is beside it. */
  fills?: boolean;
  /** False for tables, which extend to the border. */
  padded?: boolean;
}) {
  return (
    <Box component="section" className={fills ? 'card fills' : 'card'} aria-label={title}>
      <Group justify="space-between" px="md" py={10} wrap="wrap" gap="xs">
        <Title order={2}>{title}</Title>
        {aside}
      </Group>
      <Box px={padded ? 'md' : 0} pb={padded ? 'md' : 0}>
        {children}
      </Box>
    </Box>
  );
}
