"""The words of generated tool worlds: nouns, verbs, spellings, and the ways in which people put a task."""

NOUNS = (
    "vessel parcel lantern turbine orchard beacon kiln satchel harness cabinet turret trellis anvil barrel canoe "
    "dynamo easel ferry gantry hammock jetty kayak lathe mortar nozzle paddock quiver rudder silo tripod viaduct winch "
    "yurt zeppelin bobbin cistern damper flask girder hopper"
).split()
SYLLABLES = "bor dax fel gim hov jun kel lum mor nix pov rud sil tam vex wob yar zun".split()
FIELDS = "weight fee charge rate toll levy dose volume rating depth".split()
STATES = (
    ("approve accept authorize endorse", "approved"),
    ("cancel void revoke", "cancelled"),
    ("close resolve complete finalize", "closed"),
    ("block suspend freeze", "blocked"),
    ("archive retire", "archived"),
)
GET, LIST = "get fetch read retrieve show lookup describe".split(), "list find search query browse".split()
SET = "set update change modify adjust".split()
ADD = "add create register record insert".split()
WRAPPERS = ("data", "result", "item")
LIST_WRAPPERS = ("items", "results", "data")
FIRST = "Amber Copper Silver Crimson Ivory Golden Scarlet Indigo".split()
LAST = "Falcon Heron Badger Lynx Osprey Beaver Plover Stoat".split()

ANSWER_FORMATS = {
    "sum": (
        "Set the {field} of {noun} {key} to the sum of the {parts} of its {children}.",
        "Please update the {field} of {noun} {key} to the total of the {parts} of its {children}.",
        "Add up the {parts} of the {children} of {noun} {key} and set its {field} to the result.",
        "The {field} of {noun} {key} should be set to the total {part} of its {children}.",
    ),
    "count": (
        "Set the {field} of {noun} {key} to the number of its {children}.",
        "Count the {children} of {noun} {key} and set its {field} to that number.",
        "Change the {field} of {noun} {key} to how many {children} it has.",
    ),
    "more": (
        "Increase the {field} of {noun} {key} by {step}.",
        "Please raise the {field} of {noun} {key} by {step}.",
        "The {field} of {noun} {key} should be increased by {step}.",
        "Add {step} to the {field} of {noun} {key}.",
    ),
    "less": (
        "Reduce the {field} of {noun} {key} by {step}.",
        "Could you lower the {field} of {noun} {key} by {step}?",
        "The {field} of {noun} {key} must be decreased by {step}.",
    ),
    "share": (
        "Add a {child} to {noun} {key} with {percent}% of its {field} as {part}.",
        "Create a {child} for {noun} {key}; its {part} is {percent}% of the {field} of the {noun}.",
        "Register a new {child} on {noun} {key} whose {part} is {percent} percent of the {field}.",
    ),
    "condition": (
        "{verb} {noun} {key} if the total {part} of its {children} is under {limit}, "
        "otherwise set its {field} to 1.00.",
        "If the {parts} of the {children} of {noun} {key} add up to less than {limit}, {verb} it. "
        "Otherwise set its {field} to 1.00.",
        "{verb} {noun} {key} only if the sum of the {parts} of its {children} is below {limit}; "
        "otherwise set its {field} to 1.00.",
    ),
    "each": (
        "{verb} every open {noun} of {other} {key}.",
        "Please {verb} all open {nouns} of {other} {key}.",
        "{verb} each {noun} of {other} {key} that is still open.",
        "For {other} {key}: {verb} every open {noun}.",
    ),
    "list": (
        "Which {nouns} of {other} {key} are open? Answer with a JSON list of their ids.",
        "List the ids of all open {nouns} of {other} {key} as a JSON list.",
        "Which of the {nouns} of {other} {key} are still open? Give a JSON array of ids only.",
    ),
    "named_state": ("{verb} the {noun} {key}.", "{verb} the {noun} called {key}."),
    "named_figure": (
        "Set the {field} of the {noun} {key} to {value}.",
        "Change the {field} of {noun} {key} to {value}.",
    ),
    "belonging_state": (
        "{verb} the {noun} of {other} {key}.",
        "{verb} the {noun} that belongs to {key}.",
        "{key} is a {other}. {verb} its {noun}.",
    ),
    "belonging_figure": (
        "Set the {field} of the {noun} of {other} {key} to {value}.",
        "Change the {field} of the {noun} of the {other} {key} to {value}.",
    ),
}


def plural(noun: str) -> str:
    """A noun's plural as English spells it."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
