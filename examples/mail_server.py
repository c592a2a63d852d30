"""An MCP server that keeps mail, with two tools for tests: `save` and `load`."""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

server = MCPServer("mail")
SENDERS = ["alice", "bob", "carol", "dave"]
mails = [
    {"id": i, "sender": sender, "starred": i % 2 == 1, "archived": False, "deleted": False}
    for i, sender in enumerate(SENDERS, 1)
]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_mail() -> dict:
    """List all mail."""
    return {"mails": mails}


@server.tool()
def archive(id: int) -> str:
    """Archive a mail."""
    found(id)["archived"] = True
    return "archived"


@server.tool()
def delete(id: int) -> str:
    """Delete a mail for good."""
    found(id)["deleted"] = True
    return "deleted"


@server.tool()
def save() -> dict:
    """Return everything that the server holds."""
    return {"mails": mails}


@server.tool()
def load(saved: dict) -> str:
    """Put back what `save` returned."""
    mails[:] = saved["mails"]
    return "loaded"


def found(id: int) -> dict:
    for mail in mails:
        if mail["id"] == id and not mail["deleted"]:
            return mail
    raise ToolError(f"there is no mail {id}")


if __name__ == "__main__":
    server.run()
