"""Models: which judge, how they keep, and who puts which into force."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from gamewarden.desk import models as shelf
from gamewarden.desk.models import DifferenceView, ModelsView, ModelView, begin_back_test, difference
from gamewarden.desk.people import OPERATE
from gamewarden.web.asked import DeskHere, Keeper, Operator, Reader
from gamewarden.web.showing import done, language_of, show

router = APIRouter(tags=["models"])
Because = Annotated[str, Form(description="Why; it is kept for ever.", max_length=4_000)]
Model = Annotated[str, Query(description="A model's id.", max_length=200)]
ModelField = Annotated[str, Form(description="A model's id.", max_length=200)]


@router.get("/models", response_model=ModelsView)
def all_models(request: Request, desk: DeskHere, person: Reader) -> Response:
    """All models with their figures, the control charts, and who put which into force."""
    return show(request, "models.html", shelf.models(desk), may_operate=OPERATE in person.rights)


@router.get("/models/difference", response_model=DifferenceView)
def two_models(request: Request, desk: DeskHere, person: Reader, first: Model, second: Model) -> Response:
    """Two models beside each other."""
    may_test = not person.rights.isdisjoint({"decide", OPERATE})
    return show(request, "models_difference.html", difference(desk, first, second), may_test=may_test)


@router.post("/models/difference")
def try_two(request: Request, desk: DeskHere, person: Keeper, first: ModelField, second: ModelField) -> Response:
    """Try two models on the newest days, beside whatever else happens; the page says when that is done."""
    del person
    begin_back_test(desk, first, second)
    to = f"/models/difference?{urlencode({'first': first, 'second': second})}"
    return done(request, to, language_of(request).text("Both are tried on the newest days; this takes a while."))


@router.get("/models/{name}", response_model=ModelView)
def one_model(request: Request, desk: DeskHere, person: Reader, name: str) -> Response:
    """A model's card."""
    return show(request, "model.html", shelf.model(desk, name), may_operate=OPERATE in person.rights)


@router.post("/models/{name}/promote")
def promote(request: Request, desk: DeskHere, person: Operator, name: str, because: Because = "") -> Response:
    """Put a model into force; refused where it flags somebody whom an appeal has exonerated."""
    return done(request, "/models", shelf.promote(desk, name, by=person.name, because=because))


@router.post("/models/{detector}/roll-back")
def roll_back(request: Request, desk: DeskHere, person: Operator, detector: str, because: Because = "") -> Response:
    """Take the latest promotion of a detector back."""
    return done(request, "/models", shelf.roll_back(desk, detector, by=person.name, because=because))
