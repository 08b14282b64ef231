"""Weighs a document before anything costly is done with it. Pure.

The stock limiters of strawberry 0.341 open each fragment anew wherever it is spread, so a dozen nested fragments
that spread the next one twice cost them exponential time. Here each fragment is weighed once.
"""

from collections.abc import Iterator

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    Lexer,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    Source,
    TokenKind,
    parse,
)
from strawberry.extensions import SchemaExtension

from headworks.graphql.settings import GraphqlSettings

OPENING = frozenset({TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L})
CLOSING = frozenset({TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R})
SCHEMA_FIELDS = frozenset({"__schema", "__type", "_service"})


def refuse(code: str, message: str) -> GraphQLError:
    """Return an error with an `extensions.code` that a client can act on."""
    return GraphQLError(message, extensions={"code": code})


def check_tokens(query: str, settings: GraphqlSettings) -> None:
    """Read the tokens without recursion, which the parser cannot do.

    Raises:
        GraphQLError: too many tokens, or too many brackets open at once; or the text has no tokens at all.
    """
    lexer, tokens, nesting = Lexer(Source(query)), 0, 0
    while (kind := lexer.advance().kind) is not TokenKind.EOF:
        tokens += 1
        nesting += (kind in OPENING) - (kind in CLOSING)
        if tokens > settings.max_tokens:
            raise refuse("TOO_MANY_TOKENS", f"graphql.max_tokens allows {settings.max_tokens}")
        if nesting > settings.max_nesting:
            raise refuse("TOO_DEEP", f"graphql.max_nesting allows {settings.max_nesting}")


class Weigher:
    """Measures one document's operations with their fragments opened."""

    def __init__(self, document: DocumentNode, settings: GraphqlSettings) -> None:
        self._settings = settings
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._weighed: dict[str, tuple[int, int]] = {}
        self._operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]

    @property
    def operations(self) -> int:
        """How many operations the document has."""
        return len(self._operations)

    def check(self) -> None:
        """Weigh every operation of the document.

        Raises:
            GraphQLError: too deep (a fragment that spreads itself is), too many aliases, or a question about
                the schema while those are off.
        """
        aliases = sum(self._weigh(operation.selection_set, 1)[1] for operation in self._operations)
        if aliases > self._settings.max_aliases:
            raise refuse("TOO_MANY_ALIASES", f"graphql.max_aliases allows {self._settings.max_aliases}")

    def _weigh(self, selected: SelectionSetNode, level: int) -> tuple[int, int]:
        """Return the height of a selection set, itself included, and the aliases in it."""
        self._check_depth(level)
        height, aliases = 1, 0
        for inner_height, inner_aliases in self._weigh_each(selected, level):
            height = max(height, 1 + inner_height)
            aliases += inner_aliases
        return height, aliases

    def _weigh_each(self, selected: SelectionSetNode, level: int) -> Iterator[tuple[int, int]]:
        for node in selected.selections:
            if isinstance(node, FragmentSpreadNode):
                yield self._weigh_fragment(node.name.value, level)
                continue
            alias = int(isinstance(node, FieldNode) and node.alias is not None)
            inner = self._inner(node)
            height, aliases = self._weigh(inner, level + 1) if inner else (0, 0)
            yield height, aliases + alias

    def _inner(self, node: SelectionNode) -> SelectionSetNode | None:
        if isinstance(node, FieldNode) and node.name.value in SCHEMA_FIELDS:
            if not self._settings.allow_introspection:
                raise refuse("INTROSPECTION_OFF", "graphql.allow_introspection is off")
            # graphql-core bounds these itself (MaxIntrospectionDepthRule), and its own query is deep.
            return None
        inner: SelectionSetNode | None = getattr(node, "selection_set", None)
        return inner

    def _weigh_fragment(self, name: str, level: int) -> tuple[int, int]:
        fragment = self._fragments.get(name)
        if fragment is None:
            return 0, 0  # validation names it
        if name not in self._weighed:
            self._weighed[name] = self._weigh(fragment.selection_set, level + 1)
        height, aliases = self._weighed[name]
        self._check_depth(level + height)
        return height, aliases

    def _check_depth(self, level: int) -> None:
        if level > self._settings.max_depth:
            raise refuse("TOO_DEEP", f"graphql.max_depth allows {self._settings.max_depth}")


class DocumentGuard(SchemaExtension):
    """Parses in strawberry's place, so that nothing unweighed is validated or run."""

    def __init__(self, settings: GraphqlSettings) -> None:
        self._settings = settings

    def on_parse(self) -> Iterator[None]:
        """Set the document, or raise a `GraphQLError`, which strawberry answers with."""
        query = self.execution_context.query or ""
        check_tokens(query, self._settings)
        document = parse(query, no_location=False, max_tokens=self._settings.max_tokens)
        weigher = Weigher(document, self._settings)
        weigher.check()
        # Until the document is set, this is what the client sent; afterwards strawberry fills in the first one.
        if self.execution_context.operation_name is None and weigher.operations != 1:
            raise refuse("NO_OPERATION", f"the document has {weigher.operations} operations; operationName picks one")
        self.execution_context.graphql_document = document
        yield
